import { createReadStream, lstatSync } from 'node:fs';
import { errorCode, Fault } from '../../core/fault.ts';
import type { ArchiveFile } from '../../history/audit-archive.ts';
import { filePath } from './output-path.ts';
import { writeWholeFile } from './whole-file.ts';

/** The longest line of an archive, in characters. A row holds at most a few thousand ids. */
const MAX_LINE = 16 * 1024 * 1024;

const HINT = 'name a file that `vault audit prune` wrote';

/** Returns the archives that the flag names, in any order. Throws the fault `usage` for `-`. */
export function archiveFiles(paths: readonly string[]): readonly ArchiveFile[] {
  return paths.map((path) => archiveFile('--archive', filePath('--archive', path)));
}

/** Returns the audit archive at `path`. Errors name `flag`. */
export function archiveFile(flag: string, path: string): ArchiveFile {
  return {
    path,
    exists: () => lstatSync(path, { throwIfNoEntry: false }) !== undefined,
    write: (pieces) => writeWholeFile(flag, path, pieces),

    async *lines(start = 0) {
      let rest = '';
      try {
        for await (const piece of createReadStream(path, { encoding: 'utf8', start })) {
          const lines = (rest + piece).split(/(?<=\n)/);
          rest = lines.pop() ?? '';
          yield* lines;
          if (rest.length > MAX_LINE) throw new Fault('damaged', `${path} is not an audit archive`);
        }
      } catch (cause) {
        const code = errorCode(cause);
        if (cause instanceof Fault || !/^E[A-Z]+$/.test(code ?? '')) throw cause;
        if (code === 'ENOENT')
          throw new Fault('file_missing', `${flag}: there is no file ${path}`, { hint: HINT, cause });
        throw new Fault('usage', `${flag}: ${path} cannot be read (${code})`, { cause });
      }
      if (rest !== '') yield rest;
    },
  };
}
