import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { type Credential, KEY_BYTES, readKeyFile } from '../../credential.ts';
import { filePath } from '../../output-path.ts';
import { writeWholeFile } from '../../whole-file.ts';

/** What a vault is to be made with. */
export interface NewCredential {
  readonly credential: Credential;
  /** Removes the key file, if it was made for this vault. */
  readonly undo: () => Promise<void>;
}

/** The key file at `path`, which `flag` names; one that does not exist is made: 32 random bytes, mode 0600. */
export async function provideKeyFile(path: string, flag = '--key-file'): Promise<NewCredential> {
  if (existsSync(path)) return { credential: await readKeyFile(path, flag), undo: async () => undefined };
  filePath(flag, path);
  const key = randomBytes(KEY_BYTES);
  await writeWholeFile(flag, path, key);
  return { credential: { kind: 'key_file', key: new Uint8Array(key) }, undo: () => rm(path, { force: true }) };
}
