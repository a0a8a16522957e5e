import { PROBLEM_TYPE_PREFIX, type ProblemCode } from '../contract/problems.ts';
import type { MemberErrors } from '../core/problem.ts';

/** The members of a problem's body (RFC 9457). */
export interface DecodedProblem {
  /** The last part of `type`. Undefined when another program sent the problem. A newer vault may send unknown codes. */
  readonly code: ProblemCode | undefined;
  readonly title: string;
  readonly detail: string;
  readonly errors?: MemberErrors;
  readonly ids?: readonly string[];
}

export function decodeProblem(bodyText: string | undefined): DecodedProblem | undefined {
  return readProblem(parseText(bodyText ?? ''));
}

/** Returns the problem in a parsed body, or undefined for other values. */
export function readProblem(body: unknown): DecodedProblem | undefined {
  if (typeof body !== 'object' || body === null) return undefined;
  const { type, title, detail, errors, ids }: { readonly [Name in keyof DecodedProblem | 'type']?: unknown } = body;
  if (typeof type !== 'string' || typeof detail !== 'string') return undefined;
  const code = type.startsWith(PROBLEM_TYPE_PREFIX) ? type.slice(PROBLEM_TYPE_PREFIX.length) : undefined;
  return {
    code: code as ProblemCode | undefined,
    title: typeof title === 'string' ? title : '',
    detail,
    ...(isMemberErrors(errors) && { errors }),
    ...(isTexts(ids) && { ids }),
  };
}

/** Returns the value of a JSON text; undefined for other text. Numbers may lose precision. */
export function parseText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

function isMemberErrors(errors: unknown): errors is MemberErrors {
  return typeof errors === 'object' && errors !== null && Object.values(errors).every(Array.isArray);
}
