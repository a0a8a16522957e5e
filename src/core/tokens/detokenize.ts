import type { Json } from '../../contract/json.ts';
import { MAX_BATCH } from '../../contract/limits.ts';
import { applyFilters, loadFilters } from '../expressions/expressions.ts';
import { budgetFor, outputSize } from '../expressions/limits.ts';
import { parseReferences, type TokenReference } from '../expressions/parse-references.ts';
import type { Caller, Context, Handler } from '../handler.ts';
import { parseJson } from '../json/parse.ts';
import { JsonText, printValue } from '../json/stringify.ts';
import { invalid } from '../problem.ts';
import { collectErrors, createErrors, mapJson, printBatch, tooLarge } from '../request/batch.ts';
import type { Work } from '../work.ts';
import type { UsedToken } from './activity.ts';
import { naming } from './derive.ts';
import { openGoverned, sealedBytes } from './present-token.ts';
import { readTokens } from './read-tokens.ts';

/** A text of the body with expressions, split into its parts. */
interface Template {
  readonly path: string;
  readonly parts: readonly (string | Reference)[];
}

interface Reference extends TokenReference {
  readonly path: string;
  /** The reference is the whole text, so its value keeps its type. */
  readonly isWhole: boolean;
  value: Json | JsonText;
}

/**
 * Detokenize: returns the body with the data of all referenced tokens, or fails. The error for a missing token is the
 * same as for an inaccessible one.
 */
export const detokenize: Handler<'detokenize'> = async (request, caller, context) => {
  await caller.work.hold(context.limits.response);
  return fillBody(request.body, caller, context);
};

async function fillBody(body: Json, caller: Caller, context: Context): Promise<JsonText> {
  const { templates, references } = await findReferences(body, caller.work);
  await fill(references, caller, context);
  const texts = templates.values();
  const reply = mapJson(body, (value) => (isTemplate(value) ? textOf(texts.next().value) : undefined));
  return printBatch(reply, context.limits);
}

/**
 * Resolves to the texts with expressions in the body, and their references by token. Rejects with `invalid_request` for
 * expressions that fail for all tokens, and for too many tokens.
 */
export async function findReferences(body: Json, work?: Work) {
  await loadFilters(body);
  const templates = await findTemplates(body, work);
  const references = byId(templates);
  if (references.size > MAX_BATCH) throw invalid('body', `must name at most ${MAX_BATCH} tokens`);
  return { templates, references };
}

function byId(templates: readonly Template[]): ReadonlyMap<string, readonly Reference[]> {
  const found = new Map<string, Reference[]>();
  for (const part of templates.flatMap(({ parts }) => parts)) {
    if (typeof part === 'string') continue;
    const same = found.get(part.id);
    if (same === undefined) found.set(part.id, [part]);
    else same.push(part);
  }
  return found;
}

function isTemplate(value: Json): value is string {
  return typeof value === 'string' && value.includes('{{');
}

async function findTemplates(body: Json, work: Work | undefined): Promise<readonly Template[]> {
  const texts: { readonly path: string; readonly text: string }[] = [];
  mapJson(body, (value, path) => {
    if (!isTemplate(value)) return undefined;
    texts.push({ path, text: value });
    return value;
  });
  const wrong = createErrors('invalid_request');
  const templates: Template[] = [];
  for (const { path, text } of texts) {
    if (wrong.isFull) break;
    const parsed: (string | TokenReference)[] = [];
    const rest = parseReferences(text);
    try {
      for (let next = naming(path, () => rest.next()); !next.done; next = naming(path, () => rest.next())) {
        parsed.push(next.value);
        const slice = work?.next();
        if (slice !== undefined) await slice;
      }
      const isWhole = parsed.length === 1;
      const parts = parsed.map((part) => (typeof part === 'string' ? part : { ...part, path, isWhole, value: null }));
      templates.push({ path, parts });
    } catch (error) {
      collectErrors('', error, wrong);
    }
  }
  wrong.throwIfAny();
  return templates;
}

function textOf(template: Template | undefined): Json | JsonText {
  const [first, second] = template?.parts ?? [];
  if (typeof first === 'object' && second === undefined) return first.value;
  return (template?.parts ?? []).map((part) => (typeof part === 'string' ? part : part.value)).join('');
}

/**
 * Reads the tokens and sets the value of each reference. Rejects with `invalid_request` for tokens that the caller may
 * not use.
 */
async function fill(references: ReadonlyMap<string, readonly Reference[]>, caller: Caller, context: Context) {
  const now = context.clock.cutoff();
  const unusable = createErrors('invalid_request', MAX_BATCH);
  const failed = createErrors('invalid_request');
  const used: UsedToken[] = [];
  let [remaining, revealed] = [context.limits.response, false];

  function give(reference: Reference, evaluate: ReturnType<typeof evaluator>): void {
    try {
      reference.value = naming(reference.path, () => evaluate(reference));
    } catch (error) {
      collectErrors('', error, failed);
    }
    // Count each reference: a body may reference one token many times.
    const { value } = reference;
    remaining -= value instanceof JsonText ? value.text.length : outputSize(value);
    if (remaining < 0) throw tooLarge();
  }

  for await (const { id, record } of readTokens([...references.keys()], now, caller, context)) {
    const opening = caller.work.next(record && sealedBytes(record));
    if (opening !== undefined) await opening;
    const opened = record && openGoverned(caller.tenant.keyring, caller.grants, 'token:use', id, record);
    const named = references.get(id) ?? [];
    if (record === undefined || opened?.data === undefined) {
      const [{ path, position }] = named as readonly [Reference];
      unusable.add(
        path,
        `names a token that does not exist or that the application may not use, at character ${position + 1}`,
      );
      continue;
    }
    used.push({ tenant_id: record.tenant_id, id, active_month: record.active_month });
    revealed ||= opened.transform === 'reveal';
    if (!unusable.isEmpty) continue;
    const evaluate = evaluator(opened.data, caller.work);
    for (const reference of named) {
      const slice = caller.work.next();
      if (slice !== undefined) await slice;
      give(reference, evaluate);
    }
  }
  unusable.throwIfAny();
  failed.throwIfAny();
  const ids = used.map(({ id }) => id);
  caller.recorder.shown(ids, revealed);
  context.activity.note(used);
}

/**
 * Returns the function that evaluates the references to one token. All their filters share the budget of one
 * expression.
 */
function evaluator(text: string, { steps }: Work) {
  const work = budgetFor(text, steps);
  let parsed: Json | undefined;
  return ({ output, isWhole }: Reference): Json | JsonText => {
    if (isWhole && output === undefined) return new JsonText(text);
    parsed ??= parseJson(text);
    const value = output === undefined ? parsed : applyFilters(output, parsed, work);
    return isWhole ? value : printValue(value);
  };
}
