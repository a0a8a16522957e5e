import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { runKeyCommand } from '../../src/cli/credential/key-command.ts';
import { fakeableTimers } from '../fakeable-timers.ts';
import { temporaryFolder } from '../temporary-folder.ts';

fakeableTimers();

const KEY = Buffer.from('canary-key, 32 bytes to look fö');
const ending = (byte: number) => Buffer.from([...KEY.subarray(0, 31), byte]);

async function run(script: string, ...printed: readonly (Buffer | string)[]): Promise<Uint8Array> {
  const folder = temporaryFolder(onTestFinished);
  writeFileSync(path.join(folder, 'out'), Buffer.concat(printed.map((one) => Buffer.from(one))));
  writeFileSync(
    path.join(folder, 'key.mjs'),
    `import { readFileSync } from 'node:fs';\nprocess.chdir(${JSON.stringify(folder)});${script}`,
  );
  return runKeyCommand(`node ${path.join(folder, 'key.mjs')}`, '--key-command');
}

const PRINT = "process.stdout.write(readFileSync('out'));";

describe('a key that a program prints', () => {
  it.each<readonly [string, readonly (Buffer | string)[], Buffer]>([
    ['raw', [KEY], KEY],
    ['raw, with a line end', [KEY, '\n'], KEY],
    ['raw, that ends like a line', [ending(10)], ending(10)],
    ['raw, that ends like half a line', [ending(13), '\n'], ending(13)],
    ['raw, with the line end of Windows', [KEY, '\r\n'], KEY],
    ['hex', [KEY.toString('hex')], KEY],
    ['base64', [KEY.toString('base64'), '\r\n'], KEY],
  ])('is read: %s', async (_form, printed, key) => {
    expect(Buffer.from(await run(PRINT, ...printed))).toEqual(key);
  });

  it('is wiped where it was read', async () => {
    const alloc = vi.spyOn(Buffer, 'alloc');
    onTestFinished(() => alloc.mockRestore());
    await run(PRINT, KEY);
    await run(PRINT, KEY, KEY).catch(() => undefined);
    const read = alloc.mock.results.map(({ value }) => value as Buffer).filter(({ length }) => length === 67);
    expect(read).toEqual([Buffer.from(new Uint8Array(67)), Buffer.from(new Uint8Array(67))]);
  });

  it('ends with its time', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const refused = expect(run(`${PRINT}setInterval(() => {}, 1000);`, KEY)).rejects.toMatchObject({
      code: 'usage',
      message: '--key-command: node took longer than 30 s',
    });
    vi.advanceTimersByTime(30_000);
    await refused;
  });
});
