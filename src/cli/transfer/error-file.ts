import { open } from 'node:fs/promises';
import { type Printable, stringifyJson } from '../../core/json/stringify.ts';
import { noSpaceFor } from '../full-disk.ts';
import { cannotMake } from '../secret-file.ts';
import type { RowError } from './send-row.ts';

/** The rows that were refused, a line of JSON each: where they stood and what the vault said. No value of theirs is in it. */
export interface ErrorFile {
  add(error: RowError): Promise<void>;
  close(): Promise<void>;
}

/** A new file of mode 0600. Each line is in it before the next one is told of: a run that is killed has told so far. */
export async function openErrorFile(path: string): Promise<ErrorFile> {
  const handle = await open(path, 'wx', 0o600).catch((error: unknown) => {
    throw cannotMake('--errors', path, error);
  });
  return {
    async add(error) {
      await handle.writeFile(`${stringifyJson({ ...error } as Printable)}\n`).catch((cause: unknown) => {
        throw noSpaceFor('--errors', path, cause) ?? cause;
      });
    },
    close: () => handle.close(),
  };
}
