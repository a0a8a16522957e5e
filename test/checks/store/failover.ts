import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../free-port.ts';
import { startCutProxy } from '../../postgres/cut-proxy.ts';
import { startPostgres, type TestServer } from '../../postgres/start-postgres.ts';
import { type Check, CheckFailure, type CheckOptions } from '../check.ts';
import { builtText, withPatch } from '../patched-product.ts';
import { startFleet } from './fleet.ts';
import { fleetLoad } from './fleet-load.ts';

const DAEMONS = [0, 1] as const;
const ROUNDS = { quick: 1, full: 10 } as const;
const OPENING = 12;
const LOST = 15;
const MAX_READY_MS = 10_000;
/** More than the interval in which a daemon writes its anchor. */
const ANCHOR_MS = 1_500;
const KEEPS = builtText('(await compareIfPresent(parts,path),await writeAnchorFile(path,text)');

/** Lets a copy without the last commits take over. Resolves to the time until readiness, and the tokens kept. */
async function failOver({ seed }: CheckOptions, bin?: string): Promise<{ readonly ms: number; readonly kept: number }> {
  const copyPort = await freePort();
  const proxy = await startCutProxy(copyPort);
  proxy.refuse(true);
  let anchor = '';
  let copy: TestServer | undefined;
  const fleet = await startFleet({
    daemons: DAEMONS.length,
    secondPort: proxy.port,
    flags(daemon, folder) {
      if (daemon !== 0) return [];
      anchor = join(folder, 'anchor');
      return ['--anchor', anchor];
    },
    ...(bin !== undefined && { bin }),
  });
  const load = fleetLoad(fleet, seed);
  const create = async (daemon: number): Promise<string> => {
    const { status, body } = await fleet.at(daemon)(fleet.everything, 'createToken', {
      body: { type: 'token', data: 1 },
    });
    if (status !== 201) throw new CheckFailure(`a create was answered ${status}`);
    return String(body['id']);
  };
  const createMany = (count: number) =>
    Promise.all(
      DAEMONS.map(async (daemon) => {
        const ids: string[] = [];
        while (ids.length < count) ids.push(await create(daemon));
        return ids;
      }),
    );
  const write = () => load.writeWhile(DAEMONS, () => sleep(300));

  try {
    await createMany(OPENING);
    await write();
    await fleet.server.crash();
    copy = await startPostgres({ copyOf: fleet.server.folder, port: copyPort });
    await fleet.server.restart();
    const before = readFileSync(anchor, 'utf8');
    const lost = (await createMany(LOST)).flat();
    await sleep(ANCHOR_MS);
    if (readFileSync(anchor, 'utf8') === before) throw new Error('the daemon wrote no anchor');

    await fleet.server.crash();
    proxy.refuse(false);
    const ms = await fleet.untilReadiness(200, MAX_READY_MS);
    await write();
    await createMany(1);
    await load.finish({});
    const kept = load.expected.figures().tokens;
    for (const id of lost) {
      const { status } = await fleet.at(0)(fleet.everything, 'getToken', { id });
      if (status !== 404) throw new CheckFailure(`a token that the copy lacks was answered ${status}`);
    }
    for (const daemon of DAEMONS) {
      const [line = '{}'] = fleet
        .errorsOf(daemon)
        .split('\n')
        .filter((text) => text.includes('commits_lost'));
      const { missing } = JSON.parse(line);
      if (!(missing >= LOST))
        throw new CheckFailure(`daemon ${daemon} reports ${missing} missing entries, not ${LOST}`);
    }
    await sleep(ANCHOR_MS);
    await fleet.kill(0);
    const exit = await fleet.exitOf('serve', '--port', '0', '--no-log', '--anchor', anchor);
    if (exit !== 9) throw new CheckFailure(`a daemon with the anchor ends with ${exit}, not 9`);
    return { ms, kept };
  } finally {
    await fleet.close();
    await copy?.stop();
    await proxy.close();
  }
}

async function run(options: CheckOptions) {
  const counts = { rounds: 0, lost_commits: 0, kept_tokens: 0, ready_max_ms: 0 };
  for (; counts.rounds < ROUNDS[options.quick ? 'quick' : 'full']; counts.rounds += 1) {
    const { ms, kept } = await failOver({ ...options, seed: options.seed + counts.rounds });
    counts.ready_max_ms = Math.max(counts.ready_max_ms, ms);
    counts.kept_tokens += kept;
    counts.lost_commits += LOST * DAEMONS.length;
  }
  return counts;
}

/** Runs a product that replaces an anchor which names lost commits. */
const control = (options: CheckOptions) =>
  withPatch([KEEPS, '(await writeAnchorFile(path,text)'], (bin) => failOver(options, bin));

export const CHECK: Check = { number: 26, name: 'failover with loss', quick: true, run, control };
