import { execFileSync } from 'node:child_process';
import { closeSync, constants, mkdirSync, openSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { copyBytes } from '../../src/paths/copy-bytes.ts';
import { temporaryFolder } from '../temporary-folder.ts';

function files() {
  const folder = temporaryFolder();
  const [source, target] = [join(folder, 'source'), join(folder, 'target')];
  writeFileSync(source, 'secret');
  writeFileSync(target, '');
  return { folder, source, target };
}

it('copies a file', async () => {
  const { source, target } = files();
  await copyBytes(source, target);
  expect(readFileSync(target, 'utf8')).toBe('secret');
});

describe.runIf(process.platform !== 'win32')('copies no other kind of file', () => {
  it('no source that became a link, a named pipe or a folder', async () => {
    const { folder, source, target } = files();
    symlinkSync(source, join(folder, 'link'));
    execFileSync('mkfifo', [join(folder, 'pipe')]);
    mkdirSync(join(folder, 'folder'));
    await expect(copyBytes(join(folder, 'link'), target)).rejects.toMatchObject({ code: 'ELOOP' });
    await expect(copyBytes(join(folder, 'pipe'), target)).rejects.toMatchObject({ code: 'file_unsafe' });
    await expect(copyBytes(join(folder, 'folder'), target)).rejects.toMatchObject({ code: 'file_unsafe' });
    expect(readFileSync(target, 'utf8')).toBe('');
  });

  it('no target that became a link', async () => {
    const { folder, source, target } = files();
    symlinkSync(target, join(folder, 'link'));
    await expect(copyBytes(source, join(folder, 'link'))).rejects.toMatchObject({ code: 'ELOOP' });
    expect(readFileSync(target, 'utf8')).toBe('');
  });

  it('no target that became a named pipe with a reader', async () => {
    const { folder, source } = files();
    const pipe = join(folder, 'pipe');
    execFileSync('mkfifo', [pipe]);
    const reader = openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK);
    onTestFinished(() => closeSync(reader));
    await expect(copyBytes(source, pipe)).rejects.toMatchObject({ code: 'file_unsafe' });
  });
});
