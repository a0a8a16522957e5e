import { lstat, open, rm } from 'node:fs/promises';
import { Fault } from '../core/fault.ts';
import { cannotMake, putInPlace, removeAtExit, writeNewSecretFile } from './secret-file.ts';

/** A new file of mode 0600 for what is shown once, under a temporary name until its text is in it. */
export interface ReservedFile {
  /** Puts the text into the file, and the file in its place: it appears whole. When that fails the text is still somewhere, and the fault says where. */
  fill(text: string): Promise<void>;
  /** Removes it, unless it holds its text. */
  discard(): Promise<void>;
}

/**
 * Makes sure that a text of at most so many bytes can be written before what is in it is made: it must not be lost to a full disk or a
 * file that was there before. `flag` is named in messages. Throws the faults `file_exists`, `usage`, `no_space`.
 */
export async function reserveFile(flag: string, path: string, bytes: number): Promise<ReservedFile> {
  const temporary = `${path}.${process.pid}.tmp`;
  const there = await lstat(path).catch(() => undefined);
  if (there !== undefined) throw new Fault('file_exists', `${flag}: ${path} exists`);
  await writeNewSecretFile(temporary, ' '.repeat(bytes)).catch((error: unknown) => {
    throw cannotMake(flag, path, error);
  });
  const keep = removeAtExit(temporary);
  let holdsText = false;
  return {
    async fill(text) {
      await overwrite(temporary, text);
      holdsText = true;
      keep();
      await putInPlace(temporary, path).catch((cause: unknown) => {
        throw new Fault('file_exists', `${flag}: ${path} cannot be made; what was to be in it is in ${temporary}`, {
          cause,
        });
      });
    },
    async discard() {
      if (holdsText) return;
      keep();
      await rm(temporary, { force: true });
    },
  };
}

/** The file keeps its place on the disk, so that a disk that is full by now does not lose the text. */
async function overwrite(path: string, text: string): Promise<void> {
  const file = await open(path, 'r+');
  try {
    const content = Buffer.from(text);
    for (let at = 0; at < content.length; ) at += (await file.write(content, at, content.length - at, at)).bytesWritten;
    await file.truncate(content.length);
    await file.sync();
  } finally {
    await file.close();
  }
}
