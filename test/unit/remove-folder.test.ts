import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { expect, it } from 'vitest';
import { removeFolder } from '../../src/cli/commands/dev/temporary-folder.ts';

/** Creates files in the folder from another thread for some milliseconds after a message. */
async function writer(folder: string, milliseconds: number): Promise<{ go(): void; readonly ended: Promise<unknown> }> {
  const flag = new Int32Array(new SharedArrayBuffer(4));
  const code = `
    const { parentPort, workerData: { folder, flag, milliseconds } } = require('node:worker_threads');
    const { writeFileSync } = require('node:fs');
    parentPort.postMessage('ready');
    Atomics.wait(flag, 0, 0);
    const until = performance.now() + milliseconds;
    for (let n = 0; performance.now() < until; n += 1) {
      try { writeFileSync(folder + '/' + n, ''); } catch {}
    }`;
  const worker = new Worker(code, { eval: true, workerData: { folder, flag, milliseconds } });
  const ended = new Promise((resolve) => worker.once('exit', resolve));
  await new Promise((resolve) => worker.once('message', resolve));
  const go = () => {
    Atomics.store(flag, 0, 1);
    Atomics.notify(flag, 0);
    // Wait for the first files.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2);
  };
  return { go, ended };
}

it('removeFolder removes a folder in which another thread still creates files', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'vault-remove-'));
  try {
    const { go, ended } = await writer(folder, 20);
    go();
    removeFolder(folder);
    await ended;
    expect(existsSync(folder)).toBe(false);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
