import fs, { existsSync, readdirSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { makeTemporaryFolder } from '../../src/cli/commands/dev/temporary-folder.ts';
import { provideKeyFile } from '../../src/cli/commands/keys/new-credential.ts';
import { openJournal } from '../../src/cli/commands/transfer/import-journal.ts';
import { openErrorFile } from '../../src/cli/commands/transfer/report-import.ts';
import { reportFailure } from '../../src/cli/exit/report-failure.ts';
import { writeWholeFile } from '../../src/cli/files/whole-file.ts';
import { temporaryFolder } from '../temporary-folder.ts';

let folder = '';
const inside = (name: string) => path.join(folder, name);

beforeEach(() => {
  folder = temporaryFolder(onTestFinished);
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  syncBuiltinESMExports();
});

const refusal = (code: string) => Object.assign(new Error('secret'), { code });

/** Simulates a full disk: files can be created, but nothing can be written to them. */
async function fillDisk(code: string): Promise<void> {
  const handle = await open(inside('any'), 'w');
  vi.spyOn(Object.getPrototypeOf(handle), 'writeFile').mockRejectedValue(refusal(code));
  await handle.close();
  rmSync(inside('any'));
}

async function* pieces() {
  yield 'a line\n';
}

describe.each(['ENOSPC', 'EDQUOT'])('a named file on a disk that reports %s', (code) => {
  const WRITES: readonly (readonly [string, (file: string) => Promise<unknown>])[] = [
    ['--out', (file) => writeWholeFile('--out', file, pieces())],
    ['--resume', openJournal],
    ['--new-key-file', (file) => provideKeyFile(file, '--new-key-file')],
  ];

  it.each(WRITES)('%s: the error names flag and file, and no file is left', async (flag, write) => {
    await fillDisk(code);
    const message = `${flag}: there is no space left for ${inside('made')}`;
    await expect(write(inside('made'))).rejects.toMatchObject({ code: 'no_space', message });
    expect(readdirSync(folder)).toEqual([]);
  });

  it('--errors: reports the line that does not fit and keeps the earlier ones', async () => {
    const file = await openErrorFile(inside('made'));
    await fillDisk(code);
    const message = `--errors: there is no space left for ${inside('made')}`;
    const refused = file.add({ line: 1, status: 400, code: 'invalid_request', detail: 'no' });
    await expect(refused).rejects.toMatchObject({ code: 'no_space', message });
    await file.close();
    expect(existsSync(inside('made'))).toBe(true);
  });
});

it('leaves no temporary folder when its marker cannot be written', () => {
  for (const name of ['TMPDIR', 'TEMP', 'TMP']) vi.stubEnv(name, folder);
  vi.spyOn(fs, 'writeFileSync').mockImplementation(() => {
    throw refusal('ENOSPC');
  });
  syncBuiltinESMExports();
  expect(() => makeTemporaryFolder('dev')).toThrow('secret');
  expect(readdirSync(folder)).toEqual([]);
});

it('reports a full disk without the text of the system error when no flag names the file', () => {
  const told = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  expect(reportFailure(refusal('EDQUOT'), {})).toBe(1);
  expect(told.mock.calls.map(([text]) => text).join('')).toBe(
    'vault: there is no space left on the disk\nhint: raise the quota, or remove files, and try again\n',
  );
});
