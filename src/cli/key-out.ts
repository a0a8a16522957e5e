import { link, lstat, rm } from 'node:fs/promises';
import type { JsonObject } from '../contract/json.ts';
import { Fault } from '../core/fault.ts';
import { memberNames, objectOfMembers } from '../core/json/member-names.ts';
import { parseJson } from '../core/json/parse.ts';
import { stringifyJson } from '../core/json/stringify.ts';
import { asObject } from './output/result-view.ts';
import { cannotMake, writeNewSecretFile } from './secret-file.ts';

/** A new file for an API key, under a temporary name until the key is in it. */
export interface KeyFile {
  /** Takes `key` out of a response body, puts it into the file, and answers the body without it. */
  take(bodyText: string): Promise<string>;
  discard(): Promise<void>;
}

/**
 * Makes sure that the key can be written before it is made: a key that is shown once must not be lost to a full disk or
 * a file that was there before. Throws the faults `file_exists` and `usage`.
 */
export async function reserveKeyFile(path: string): Promise<KeyFile> {
  const temporary = `${path}.${process.pid}.tmp`;
  if (await exists(path)) throw new Fault('file_exists', `--key-out: ${path} exists`);
  try {
    await writeNewSecretFile(temporary, '');
  } catch (error) {
    throw cannotMake('--key-out', path, error);
  }
  return {
    async take(bodyText) {
      const body = asObject(parseJson(bodyText, { maxDepth: 1024 }));
      const key = body?.['key'];
      if (body === undefined || typeof key !== 'string') throw new Fault('usage', '--key-out: the result has no key');
      await rm(temporary);
      await writeNewSecretFile(temporary, `${key}\n`);
      await putInPlace(temporary, path);
      return stringifyJson(withoutKey(body));
    },
    async discard() {
      await rm(temporary, { force: true });
    },
  };
}

/** A link, unlike a rename, never replaces a file that appeared in the meantime. */
async function putInPlace(temporary: string, path: string): Promise<void> {
  try {
    await link(temporary, path);
  } catch (error) {
    throw new Fault('file_exists', `--key-out: ${path} cannot be made; the key is in ${temporary}`, { cause: error });
  }
  await rm(temporary);
}

function withoutKey(body: JsonObject): JsonObject {
  const names = memberNames(body).filter((name) => name !== 'key');
  return objectOfMembers(new Map(names.map((name) => [name, body[name] ?? null])));
}

async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}
