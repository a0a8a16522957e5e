import path from 'node:path';
import { BIN, run, type ServedVault, serve, vault } from '../scripts/run-vault.ts';
import { type CaseResult, endedChildrenSeconds, line, median } from './figures.ts';
import { makeBenchVault, withFolder } from './vault.ts';

/** Each command with its maximum, as a multiple of `node -e 0`. */
const TARGETS: Readonly<Record<string, number>> = {
  version: 1.6,
  help: 1.6,
  'tokens-get-http': 2.2,
  'tokens-get-file': 3.2,
  'serve-ready': 5,
};

interface Start {
  readonly case: string;
  run(): Promise<string | ServedVault>;
}

/** Measures the cases in turn, so that other load on the machine affects all of them. */
async function measure(cases: readonly Start[], rounds: number) {
  const measured = cases.map((each) => ({ ...each, times: [] as number[], processor: 0 }));
  for (let turn = -1; turn < rounds; turn += 1) {
    for (let step = 0; step < cases.length; step += 1) {
      const each = measured[(step + turn + cases.length) % cases.length];
      if (each === undefined) throw new Error('there are no cases');
      const before = endedChildrenSeconds();
      const started = performance.now();
      const result = await each.run();
      const ms = performance.now() - started;
      if (typeof result !== 'string') await result.end();
      if (turn < 0) continue; // The first turn fills the caches.
      each.times.push(ms);
      each.processor += endedChildrenSeconds() - before;
    }
  }
  return measured.map(({ case: name, times, processor }) => ({ name, times, ms: median(times), processor }));
}

/**
 * Measures whole commands as ratios to a bare `node -e 0` in the same round (README, "Speed"). `cpu_ratio` compares the
 * processor time of the processes.
 */
export function startup({ rounds }: { readonly rounds: number }): Promise<CaseResult> {
  return withFolder(async (folder, bare) => {
    const { env, keys } = await makeBenchVault(folder, bare);
    const other = path.join(folder, 'other.db');
    await vault(['init', '--file', other], bare);
    const direct = { ...env, VAULT_API_KEY: keys.reveal };
    const { id }: { readonly id: string } = await vault(
      ['tokens', 'create', '--type', 'token', '--data', '"4242"'],
      direct,
    );
    const daemon = await serve([], env);
    try {
      const remote = { ...bare, VAULT_URL: daemon.url, VAULT_API_KEY: keys.reveal };
      const get = [BIN, 'tokens', 'get', id];
      if ((await run(get, remote)) !== (await run(get, direct))) throw new Error('the two targets answer differently');
      const cases: readonly Start[] = [
        { case: 'version', run: () => run([BIN, '--version'], bare) },
        { case: 'help', run: () => run([BIN, '--help'], bare) },
        { case: 'tokens-get-http', run: () => run(get, remote) },
        { case: 'tokens-get-file', run: () => run(get, direct) },
        { case: 'serve-ready', run: () => serve(['--file', other], bare) },
      ];
      const bareNode = { case: 'node', run: () => run(['-e', '0'], bare) };
      const measured = await measure([bareNode, ...cases], rounds);
      const [node = { ms: Number.NaN, processor: Number.NaN }] = measured;
      const rows = measured.map(({ name, times, ms, processor }) =>
        line('startup', name, {
          ratio: ms / node.ms,
          better: 'lower',
          target: TARGETS[name],
          cpu_ratio: processor / node.processor,
          median_ms: ms,
          min_ms: Math.min(...times),
        }),
      );
      return { title: `Start-up, ${rounds} rounds, Node ${process.versions.node}`, rows };
    } finally {
      await daemon.end();
    }
  });
}
