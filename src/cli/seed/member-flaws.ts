import { type MemberErrors, Problem } from '../../core/problem.ts';
import type { MemberPath } from './check-schema.ts';

/** Tells of one thing that is wrong with a member of an item. */
export type AddFlaw = (path: MemberPath, message: string) => void;

/** Adds what is wrong by dotted path. */
export function addMembers(errors: MemberErrors | undefined, add: AddFlaw): void {
  for (const [path, messages] of Object.entries(errors ?? {})) {
    for (const message of messages) add(stepsOf(path), message);
  }
}

/** Adds what `check` refuses. Throws whatever else it throws. */
export async function addRefused(add: AddFlaw, check: () => unknown): Promise<void> {
  try {
    await check();
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    addMembers(error.errors, add);
  }
}

/** As a place in a list is written: `007` is a member's name. */
const PLACE = /^(?:0|[1-9]\d{0,8})$/;

/** The steps of a dotted path: the place in a list is a number. */
export const stepsOf = (path: string): MemberPath =>
  path.split('.').map((word) => (PLACE.test(word) ? Number(word) : word));
