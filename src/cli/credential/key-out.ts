import type { JsonObject } from '../../contract/json.ts';
import { Fault } from '../../core/fault.ts';
import { stringifyJson } from '../../core/json/stringify.ts';
import { filePath } from '../files/output-path.ts';
import { reserveFile } from '../files/whole-file.ts';
import { asObject, objectOf } from '../output/result-view.ts';

/** The space to reserve on disk for an API key, larger than any key. */
const RESERVED_BYTES = 256;

/**
 * Resolves to the result of `work`. With a path, reserves a file before the key exists, as `reserveFile` does, and moves
 * `key`, or `application.key`, from the result into it. Rejects with the faults `file_exists`, `usage` and `no_space`.
 */
export async function withKeyFile(
  path: string | undefined,
  work: () => Promise<string>,
  member: 'key' | 'application.key' = 'key',
): Promise<string> {
  if (path === undefined) return work();
  filePath('--key-out', path, `omit --key-out and pass --field ${member} to print only the key`);
  return reserveFile('--key-out', path, RESERVED_BYTES, async (fill) => {
    const { key, rest } = splitKey(objectOf(await work()));
    if (key === undefined) throw new Fault('usage', '--key-out: the result has no key');
    await fill(`${key}\n`);
    return stringifyJson(rest);
  });
}

/** Returns the key of an application (or of that in a new tenant), and the result without the key. */
function splitKey(body: JsonObject) {
  const { key, ...rest } = body;
  if (typeof key === 'string') return { key, rest };
  const { key: inner, ...application } = asObject(body['application'] ?? null) ?? {};
  return typeof inner === 'string' ? { key: inner, rest: { ...body, application } } : { rest: body };
}
