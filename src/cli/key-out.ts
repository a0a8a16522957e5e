import type { JsonObject } from '../contract/json.ts';
import { Fault } from '../core/fault.ts';
import { parseJson } from '../core/json/parse.ts';
import { stringifyJson } from '../core/json/stringify.ts';
import { asObject } from './output/result-view.ts';
import { filePath } from './output-path.ts';
import { reserveFile } from './whole-file.ts';

/** Longer than any API key: so much is on the disk before the key is made. */
const RESERVED_BYTES = 256;

/** A new file for an API key, under a temporary name until the key is in it. */
export interface KeyFile {
  /** Takes `key`, or `application.key`, out of a result, puts it into the file, and answers the result without it. */
  take(bodyText: string): Promise<string>;
  discard(): Promise<void>;
}

/** The place of the key in a result: of an application, or of a tenant with its first application. */
export type KeyMember = 'key' | 'application.key';

/**
 * Makes sure that the key can be written before it is made: a key that is shown once must not be lost to a full disk or
 * a file that was there before. Throws the faults `file_exists`, `usage`, `no_space`.
 */
export async function reserveKeyFile(path: string, member: KeyMember = 'key'): Promise<KeyFile> {
  filePath('--key-out', path, `without --key-out the key is in the result: --field ${member} prints it alone`);
  const reserved = await reserveFile('--key-out', path, RESERVED_BYTES);
  return {
    async take(bodyText) {
      const body = asObject(parseJson(bodyText)) ?? {};
      const { key, rest } = splitKey(body);
      if (key === undefined) throw new Fault('usage', '--key-out: the result has no key');
      await reserved.fill(`${key}\n`);
      return stringifyJson(rest);
    },
    discard: reserved.discard,
  };
}

/** The result of `work`; with a path, its key goes to that new file, which is made sure of before the work is done. */
export async function withKeyFile(
  path: string | undefined,
  work: () => Promise<string>,
  member: KeyMember = 'key',
): Promise<string> {
  if (path === undefined) return work();
  const keyFile = await reserveKeyFile(path, member);
  try {
    return await keyFile.take(await work());
  } finally {
    await keyFile.discard();
  }
}

/** The key of an application, or of the application in a created tenant. */
function splitKey(body: JsonObject): { readonly key: string | undefined; readonly rest: JsonObject } {
  const { key, ...rest } = body;
  if (typeof key === 'string') return { key, rest };
  const { key: inner, ...application } = asObject(body['application'] ?? null) ?? {};
  return typeof inner === 'string' ? { key: inner, rest: { ...body, application } } : { key: undefined, rest: body };
}
