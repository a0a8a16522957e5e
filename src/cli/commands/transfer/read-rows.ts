import type { Json, JsonObject } from '../../../contract/json.ts';
import { CREATE_TOKEN, TOKEN } from '../../../contract/token.ts';
import { Fault } from '../../../core/fault.ts';
import { isJsonObject, memberNames } from '../../../core/json/kind.ts';
import { parseJson } from '../../../core/json/parse.ts';
import { stringifyJson } from '../../../core/json/stringify.ts';
import type { ImportRow } from './import-row.ts';

/** The reason to reject a row that shows no data, or only a masked form. */
export const MASKED = 'masked: export with the key of the file';

/** The reason to reject a row whose data may be a masked form: any JSON can be the data of the type. */
const MAYBE_MASKED = 'perhaps masked: export with the key of the file, or pass --revealed if the list shows the data';

/** The members of a token that no request may set, and that of a masked export. */
export const READ_ONLY: ReadonlySet<string> = new Set([
  ...Object.keys(TOKEN.properties).filter((name) => !Object.hasOwn(CREATE_TOKEN.properties, name)),
  'masked',
]);

interface ReadOptions {
  readonly onSkipped: (members: readonly string[]) => void;
  /** Whether the data of all rows is revealed. The rows themselves do not show this. */
  readonly isRevealed: boolean;
}

/**
 * Yields rows of NDJSON as Create Token bodies. Leaves the read-only members out of a token as a reply shows it, and
 * calls `onSkipped` with their names for the first such row. Marks a row without data, a masked one and the reply of a
 * create as rejected; unless `isRevealed`, also a row that may be masked. Throws the fault `invalid_data` for JSON that
 * is not NDJSON, before the first row.
 */
export async function* ndjsonRows(
  rows: AsyncIterable<ImportRow>,
  { onSkipped, isRevealed }: ReadOptions,
): AsyncGenerator<ImportRow> {
  let isFirst = true;
  let isReported = false;
  for await (const row of rows) {
    if (isFirst) refuseOtherJson(row.body);
    isFirst = false;
    const token = parsed(row.body);
    const skipped = token === undefined ? [] : memberNames(token).filter((name) => READ_ONLY.has(name));
    if (token === undefined || skipped.length === 0) {
      yield row;
      continue;
    }
    if (!isReported) onSkipped(skipped);
    isReported = true;
    yield { ...row, ...withoutReadOnly(token, isRevealed), isRead: true };
  }
}

function withoutReadOnly(token: JsonObject, isRevealed: boolean): Pick<ImportRow, 'body' | 'refused'> {
  const members = memberNames(token).filter((name) => !READ_ONLY.has(name));
  const body = stringifyJson(Object.fromEntries(members.map((name) => [name, token[name] ?? null])));
  // Only the reply of a create or patch shows the expression of the mask, and its data is the masked form.
  const isMasked = !members.includes('data') || members.includes('mask');
  if (isMasked) return { body, refused: MASKED };
  return { body, ...(token['type'] === 'token' && !isRevealed && { refused: MAYBE_MASKED }) };
}

/** Returns the object of a row that may have read-only members; undefined for any other row. */
function parsed(body: string): JsonObject | undefined {
  // Most rows have none of these members, and need no parse.
  if (!body.includes('"tenant_id"') && !body.includes('"masked"') && !body.includes('"fingerprint"')) return undefined;
  const value = parseOrNothing(body);
  return value !== undefined && isJsonObject(value) ? value : undefined;
}

/** Throws the fault `invalid_data` if the first line begins an array, a reply with a list or JSON of several lines. */
function refuseOtherJson(first: string): void {
  const value = parseOrNothing(first);
  const isList = value !== undefined && isJsonObject(value) && Array.isArray(value['data']) && !('type' in value);
  const [what, filter] = first.startsWith('[')
    ? ['a JSON array', '.[]']
    : isList
      ? ['one JSON object with a list', '.data[]']
      : value === undefined && /^\{\s*$|^\{.*[,[{:]$/.test(first)
        ? ['JSON of several lines', '.']
        : [];
  if (what === undefined) return;
  throw new Fault('invalid_data', `the file is ${what}, not NDJSON: a line must be one token`, {
    hint: `convert it: jq -c '${filter}' FILE | vault import -`,
  });
}

/** Returns the value of a JSON text; undefined for other text. */
export function parseOrNothing(text: string): Json | undefined {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}
