import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { serve } from './bench-daemon.js';
import { line, median } from './bench-figures.js';
import { endedChildrenSeconds } from './bench-process.js';
import { BIN, bareEnvironment, makeVault, run } from './run-vault.js';

async function timed(action) {
  const started = performance.now();
  const result = await action();
  return { ms: performance.now() - started, result };
}

/**
 * How long commands take from nothing, as ratios to a bare `node -e 0` of the same rounds (README, "Speed"). The cases take
 * turns, so that what else the machine does falls on all of them. `cpu_ratio` is that of their processor time, to the end.
 */
export async function startup({ rounds, ownEnvironment }) {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'vault-bench-'));
  const bare = bareEnvironment(folder, { own: ownEnvironment });
  let daemon;
  try {
    const { file, env, token, keyFile } = await makeVault(folder, 'read', bare);
    const other = await makeVault(folder, 'serve', bare);
    daemon = await serve(['--file', file], env);
    const remote = { ...bare, VAULT_URL: daemon.url, VAULT_API_KEY: env.VAULT_API_KEY };
    const get = [BIN, 'tokens', 'get', token];

    const cases = [
      { case: 'node', run: () => timed(() => run(['-e', '0'], bare)) },
      { case: 'version', target: 1.35, run: () => timed(() => run([BIN, '--version'], bare)) },
      { case: 'help', target: 1.35, run: () => timed(() => run([BIN, '--help'], bare)) },
      { case: 'tokens-get-http', target: 1.8, run: () => timed(() => run(get, remote)) },
      { case: 'tokens-get-file', target: 1.9, run: () => timed(() => run(get, env)) },
      {
        case: 'serve-ready',
        target: 4,
        run: async () => {
          const measured = await timed(() => serve(['--file', other.file], { ...bare, VAULT_KEY_FILE: other.keyFile }));
          await measured.result.stop();
          return measured;
        },
      },
    ];
    const expected = await run(get, { ...env, VAULT_KEY_FILE: keyFile });
    if ((await run(get, remote)) !== expected) throw new Error('the two doors answer differently');

    const times = cases.map(() => []);
    const processor = cases.map(() => 0);
    for (let turn = -1; turn < rounds; turn++) {
      for (let step = 0; step < cases.length; step++) {
        const index = (step + turn + cases.length) % cases.length;
        const before = endedChildrenSeconds();
        const { ms } = await cases[index].run();
        if (turn < 0) continue; // the first turn fills the caches
        times[index].push(ms);
        processor[index] += endedChildrenSeconds() - before;
      }
    }
    const base = median(times[0]);
    const rows = cases.map(({ case: name, target }, index) => {
      const middle = median(times[index]);
      return line('startup', name, {
        ratio: middle / base,
        better: 'lower',
        target,
        cpu_ratio: Number.isNaN(processor[0]) ? undefined : processor[index] / processor[0],
        median_ms: middle,
        min_ms: Math.min(...times[index]),
      });
    });
    return { title: `Start-up, ${rounds} rounds, Node ${process.versions.node}`, rows };
  } finally {
    await daemon?.stop();
    await rm(folder, { recursive: true, force: true });
  }
}
