import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openLogFile } from '../../src/cli/commands/serve/log-file.ts';
import { parseReady, type Ready, writeReadyFile } from '../../src/cli/commands/serve/ready-file.ts';
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

describe('vault serve --log-file', () => {
  it.runIf(process.platform !== 'win32')('creates a file for its user alone', () => {
    const file = path.join(temporaryFolder(onTestFinished), 'log');
    openLogFile(file, () => undefined);
    expect(statSync(file).mode & 0o777).toBe(0o600);
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
