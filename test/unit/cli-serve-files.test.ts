import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openLogFile } from '../../src/cli/commands/serve/log-file.ts';
import { type Ready, writeReadyFile } from '../../src/cli/commands/serve/ready-file.ts';
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

describe('vault serve --log-file', () => {
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
