import path from 'node:path';
import { BIN, run, serve, vault } from '../scripts/run-vault.js';
import { endedChildrenSeconds, line, median } from './figures.js';
import { makeBenchVault, withFolder } from './vault.js';

/** Each command with its maximum, as a multiple of `node -e 0`. */
const TARGETS = { version: 1.6, help: 1.6, 'tokens-get-http': 2.2, 'tokens-get-file': 3.2, 'serve-ready': 5 };

/** Measures the cases in turn, so that other load on the machine affects all of them. */
async function measure(cases, rounds) {
  const measured = cases.map(() => ({ times: [], processor: 0 }));
  for (let turn = -1; turn < rounds; turn += 1) {
    for (let step = 0; step < cases.length; step += 1) {
      const index = (step + turn + cases.length) % cases.length;
      const before = endedChildrenSeconds();
      const started = performance.now();
      const result = await cases[index].run();
      const ms = performance.now() - started;
      await result.end?.();
      if (turn < 0) continue; // The first turn fills the caches.
      measured[index].times.push(ms);
      measured[index].processor += endedChildrenSeconds() - before;
    }
  }
  return measured;
}

/**
 * Measures whole commands as ratios to a bare `node -e 0` in the same round (README, "Speed"). `cpu_ratio` compares the
 * processor time of the processes.
 */
export function startup({ rounds }) {
  return withFolder(async (folder, bare) => {
    const { env, keys } = await makeBenchVault(folder, bare);
    const other = path.join(folder, 'other.db');
    await vault(['init', '--file', other], bare);
    const direct = { ...env, VAULT_API_KEY: keys.reveal };
    const { id } = await vault(['tokens', 'create', '--type', 'token', '--data', '"4242"'], direct);
    const daemon = await serve([], env);
    try {
      const remote = { ...bare, VAULT_URL: daemon.url, VAULT_API_KEY: keys.reveal };
      const get = [BIN, 'tokens', 'get', id];
      if ((await run(get, remote)) !== (await run(get, direct))) throw new Error('the two targets answer differently');
      const cases = [
        { case: 'node', run: () => run(['-e', '0'], bare) },
        { case: 'version', run: () => run([BIN, '--version'], bare) },
        { case: 'help', run: () => run([BIN, '--help'], bare) },
        { case: 'tokens-get-http', run: () => run(get, remote) },
        { case: 'tokens-get-file', run: () => run(get, direct) },
        { case: 'serve-ready', run: () => serve(['--file', other], bare) },
      ];
      const measured = await measure(cases, rounds);
      const node = { ms: median(measured[0].times), processor: measured[0].processor };
      const rows = measured.map(({ times, processor }, index) =>
        line('startup', cases[index].case, {
          ratio: median(times) / node.ms,
          better: 'lower',
          target: TARGETS[cases[index].case],
          cpu_ratio: Number.isNaN(processor) ? undefined : processor / node.processor,
          median_ms: median(times),
          min_ms: Math.min(...times),
        }),
      );
      return { title: `Start-up, ${rounds} rounds, Node ${process.versions.node}`, rows };
    } finally {
      await daemon.end();
    }
  });
}
