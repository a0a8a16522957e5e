import { chmodSync, existsSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openLogFile } from '../../src/cli/commands/serve/log-file.ts';
import { parseReady, type Ready, writeReadyFile } from '../../src/cli/commands/serve/ready-file.ts';
import { openErrorFile } from '../../src/cli/commands/transfer/report-import.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const READY: Ready = { url: 'http://127.0.0.1:1', pid: 1, version: '0.0.0' };
const VAULT = `SQLite format 3\0${'\x10'.repeat(84)}`;
const KEY = Buffer.from('9f'.repeat(32), 'hex');

function fileWith(content: string | Buffer): string {
  const file = path.join(temporaryFolder(onTestFinished), 'a');
  writeFileSync(file, content, { mode: 0o600 });
  return file;
}

describe('vault serve --ready-file', () => {
  it.each([
    ['an older ready file', JSON.stringify(READY)],
    ['an empty file', ''],
  ])('replaces %s', async (_, content) => {
    const file = fileWith(content);
    await writeReadyFile(file, READY);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(READY);
  });

  it.each([
    ['the vault', VAULT],
    ['a key', KEY],
    ['another text', '{"url":"http://127.0.0.1:1"}\n'],
  ])('rejects %s and keeps it', async (_, content) => {
    const file = fileWith(content);
    await expect(writeReadyFile(file, READY)).rejects.toMatchObject({ code: 'usage' });
    expect(readFileSync(file)).toEqual(Buffer.from(content));
  });
});

it.runIf(process.platform !== 'win32')('a ready file that others can read is not replaced', async () => {
  const file = fileWith(JSON.stringify(READY));
  chmodSync(file, 0o644);
  await expect(writeReadyFile(file, READY)).rejects.toMatchObject({ code: 'file_unsafe' });
});

it.each(['url', 'version', 'management_key'])('a ready file holds no line break in %s', (name) => {
  expect(parseReady(JSON.stringify({ ...READY, [name]: 'a' }))).toHaveProperty(name, 'a');
  expect(parseReady(JSON.stringify({ ...READY, [name]: 'a\nb' })) ?? {}).not.toHaveProperty(name);
});

it.runIf(process.platform !== 'win32').each([
  ['0', 0],
  ['0777', 0o777],
])('new files are readable for their user alone under umask %s', async (_, umask) => {
  const folder = temporaryFolder(onTestFinished);
  const before = process.umask(umask);
  try {
    openLogFile(path.join(folder, 'log'), () => undefined);
    await writeReadyFile(path.join(folder, 'ready'), READY);
    await (await openErrorFile(path.join(folder, 'errors'))).close();
    for (const name of ['log', 'ready', 'errors']) {
      expect([name, statSync(path.join(folder, name)).mode & 0o777]).toEqual([name, 0o600]);
    }
  } finally {
    process.umask(before);
  }
});

describe('vault serve --log-file', () => {
  it.runIf(process.platform !== 'win32')('follows a link, but creates no file behind it', () => {
    const [file, link] = [fileWith(''), path.join(temporaryFolder(onTestFinished), 'log')];
    symlinkSync(file, link);
    openLogFile(link, () => undefined).write('{}\n');
    expect(readFileSync(file, 'utf8')).toBe('{}\n');
    rmSync(file);
    const missing = expect.objectContaining({ message: `--log-file: ${link} cannot be opened (ENOENT)` });
    expect(() => openLogFile(link, () => undefined)).toThrow(missing);
    expect(existsSync(file)).toBe(false);
  });

  it.runIf(existsSync('/dev/full'))('reports once that lines are lost', () => {
    const facts: string[] = [];
    const log = openLogFile('/dev/full', (fact) => void facts.push(fact));
    for (let n = 0; n < 3; n += 1) log.write('{}\n');
    expect(facts).toEqual(['--log-file: /dev/full cannot be written (ENOSPC); lines are lost']);
  });

  it.each([
    ['an existing log', '{"status":200}\n'],
    ['an empty file', ''],
  ])('appends to %s', (_, content) => {
    const file = fileWith(content);
    openLogFile(file, () => undefined).write('{"status":404}\n');
    expect(readFileSync(file, 'utf8')).toBe(`${content}{"status":404}\n`);
  });

  it.each([
    ['the vault', VAULT],
    ['a key', KEY],
  ])('rejects %s', (_, content) => {
    const file = fileWith(content);
    const notLog = expect.objectContaining({ code: 'usage', message: `--log-file: ${file} is not a log` });
    expect(() => openLogFile(file, () => undefined)).toThrow(notLog);
  });
});
