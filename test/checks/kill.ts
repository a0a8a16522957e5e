import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Check, CheckFailure, type CheckOptions } from './check.ts';
import { createExpectedState, type ExpectedState, verifyTokens, writeTokens } from './kill-writer.ts';
import { percentile, seededNumbers } from './perform.ts';
import { type ServedVault, serveVault } from './served-vault.ts';

const WRITERS = 8;
const BATCHES = 0.05;
const CYCLES = { quick: 8, full: 200 } as const;
const MAX_CYCLES = 600;
const MIN_ACKNOWLEDGED = { quick: 50, full: 10_000 } as const;
const MAX_READY_MS = 1_000;

/** Creates tokens through the command line on the same file. These processes are not killed. */
async function writeDirectly(vault: ServedVault, expected: ExpectedState, until: () => boolean): Promise<void> {
  while (!until()) {
    const version = expected.nextVersion();
    const id = `kill-${version}`;
    const data = JSON.stringify({ left: version, right: version });
    expected.sends(id, version);
    const flags = ['--id', id, '--type', 'token', '--data', data, '--metadata', `version=${version}`];
    await vault.cli(['tokens', 'create', ...flags, '--field', 'id'], vault.everything);
    expected.acknowledges(id, version);
  }
}

/** Returns the milliseconds that an empty Node process takes now, as a baseline for starts. */
async function bareNode(): Promise<number> {
  const started = performance.now();
  await once(spawn(process.execPath, ['-e', '0'], { stdio: 'ignore' }), 'exit');
  return performance.now() - started;
}

interface KillOptions {
  readonly seed: number;
  readonly cycles: number;
  readonly leastAcknowledged: number;
  readonly trusting?: boolean;
}

async function kills({ seed, cycles, leastAcknowledged, trusting = false }: KillOptions) {
  const random = seededNumbers(seed);
  const expected = createExpectedState(trusting);
  await using vault = await serveVault();
  const reader = { perform: vault.remote, key: vault.everything };
  const ready: number[] = [];
  const bare: number[] = [];
  let cycle = 0;
  const figures = () => ({
    cycles: cycle,
    ...expected.figures(),
    ready_p50_ms: percentile(ready, 0.5),
    ready_p99_ms: percentile(ready, 0.99),
    bare_node_p99_ms: percentile(bare, 0.99),
  });
  await vault.start();
  while (cycle < cycles || (expected.figures().acknowledged < leastAcknowledged && cycle < MAX_CYCLES)) {
    let dead = false;
    const writers = Array.from({ length: WRITERS }, () =>
      writeTokens({ perform: vault.remote, key: vault.everything, expected, random, batches: BATCHES }),
    );
    const direct = writeDirectly(vault, expected, () => dead);
    await sleep(50 + Math.floor(random() * 350));
    await vault.kill();
    dead = true;
    await Promise.all([...writers, direct]);
    bare.push(await bareNode());
    ready.push(await vault.start());
    await verifyTokens(reader, expected, expected.touched());
    cycle++;
    if (expected.violations().length > 0) throw new CheckFailure(expected.violations()[0] ?? '', figures());
  }
  await verifyTokens(reader, expected, expected.all());
  const [violation] = expected.violations();
  if (violation !== undefined) throw new CheckFailure(violation, figures());
  if (expected.figures().acknowledged < leastAcknowledged) throw new CheckFailure('too few writes', figures());
  await vault.kill();
  await vault.requireSound(figures());
  return figures();
}

async function run({ seed, quick }: CheckOptions) {
  const size = quick ? 'quick' : 'full';
  const figures = await kills({ seed, cycles: CYCLES[size], leastAcknowledged: MIN_ACKNOWLEDGED[size] });
  // A busy machine delays every process alike. A few starts give no useful 99th percentile.
  const own = figures.ready_p99_ms - figures.bare_node_p99_ms;
  if (!quick && own >= MAX_READY_MS) throw new CheckFailure('not ready again within 1 s', figures);
  return figures;
}

/** Counts writes as acknowledged when they are sent, so that a kill must lose some. */
const control = ({ seed }: CheckOptions) => kills({ seed, cycles: 20, leastAcknowledged: 0, trusting: true });

export const CHECK: Check = { number: 1, name: 'kill -9', quick: true, runs: 'alone', run, control };
