import type { JsonObject } from '../contract/json.ts';
import { Fault } from '../core/fault.ts';
import { parseJson } from '../core/json/parse.ts';
import { stringifyJson } from '../core/json/stringify.ts';
import { asObject } from './output/result-view.ts';
import { filePath } from './output-path.ts';
import { reserveFile } from './whole-file.ts';

/** Longer than any API key: reserves this space on disk before the key exists. */
const RESERVED_BYTES = 256;

/** A new file for an API key. It has a temporary name until it holds the key. */
export interface KeyFile {
  /** Moves `key`, or `application.key`, from a result into the file, and returns the rest of the result. */
  take(bodyText: string): Promise<string>;
  discard(): Promise<void>;
}

/** The path of the key in a result: of an application, or of a tenant with its first application. */
export type KeyMember = 'key' | 'application.key';

/**
 * Reserves the file before the key exists: a full disk or an existing file must not lose a key that is shown once.
 * Throws the faults `file_exists`, `usage`, `no_space`.
 */
export async function reserveKeyFile(path: string, member: KeyMember = 'key'): Promise<KeyFile> {
  filePath('--key-out', path, `omit --key-out and pass --field ${member} to print only the key`);
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

/** Returns the result of `work`. With a path, reserves a new file before the work runs and moves the key into it. */
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

/** Returns the key of an application, or of the application in a created tenant. */
function splitKey(body: JsonObject): { readonly key: string | undefined; readonly rest: JsonObject } {
  const { key, ...rest } = body;
  if (typeof key === 'string') return { key, rest };
  const { key: inner, ...application } = asObject(body['application'] ?? null) ?? {};
  return typeof inner === 'string' ? { key: inner, rest: { ...body, application } } : { key: undefined, rest: body };
}
