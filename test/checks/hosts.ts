import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { setup as requireChromium } from '../console/require-chromium.ts';
import { type Check, CheckFailure, type CheckOptions, type Figures } from './check.ts';
import { VAULT_BIN } from './daemon-process.ts';
import { POD_IP } from './hosts-cases.ts';
import type { Outcome } from './hosts-network.ts';
import { builtText, withPatch } from './patched-product.ts';
import { inParallel } from './perform.ts';

const execute = promisify(execFile);
/** Runs a command in a network of its own: all ports are free, and the machine has the address of a pod. */
const NETWORK = ['--net', ...(process.getuid?.() === 0 ? [] : ['--map-root-user']), 'sh', '-c'];
const ADDRESSES = `ip link set lo up && ip address add ${POD_IP}/32 dev lo && exec "$@"`;

/** Sends the requests of proxies, tunnels, probes and attackers. Rejects with a `CheckFailure` for a wrong answer. */
async function attack(bin: string, browser: 'browser' | 'none'): Promise<Figures> {
  const script = path.join(import.meta.dirname, 'hosts-network.ts');
  const words = [...NETWORK, ADDRESSES, 'sh', process.execPath, script, bin, browser];
  const { stdout } = await execute('unshare', words, { maxBuffer: 2 ** 24 });
  const outcomes: readonly Outcome[] = JSON.parse(stdout);
  const wrong = outcomes.filter(({ wanted, got }) => wanted !== got);
  const figures = { cases: outcomes.length, wrong: wrong.length };
  const [first] = wrong;
  if (first === undefined) return figures;
  throw new CheckFailure(`${first.what}: ${first.got}, not ${first.wanted}`, figures);
}

/** Faults of the product that the check must find: the text to replace in its code, and the replacement. */
const FAULTS: readonly (readonly [before: string, after: string])[] = [
  [builtText('if(!isOwnHost(host)&&!isProbe(url))'), 'if(false)'], // compares no names
  [builtText('request.headers.host=authority'), '0'], // judges absolute-form by Host
  [builtText('if(!isOwnHost(host)&&!isProbe(url))'), 'if(!isOwnHost(host))'], // lets no probe of a pod in
  [builtText('hosts>1||'), ''], // takes the first of two Hosts
  [builtText('authority!==void 0&&authority===host?void 0:"origin_refused"'), 'void 0'], // any page may use the console
  [builtText('isEveryAddress(address)?"127.0.0.1":'), ''], // names 0.0.0.0 as its address
  [builtText('host.replace(/^[^.]+/,"")'), 'host.replace(/^.*(?=\\.[^.]+\\.[^.]+$)/,"")'], // takes any depth under a wildcard
];
const QUICK_FAULTS = 1;

async function control({ quick }: CheckOptions): Promise<unknown> {
  const faults = quick ? FAULTS.slice(0, QUICK_FAULTS) : FAULTS;
  const found: CheckFailure[] = [];
  await inParallel(faults.length, 2, async (index) => {
    await withPatch(faults[index] ?? ['', ''], (bin) => attack(bin, 'none')).catch((error: unknown) => {
      if (!(error instanceof CheckFailure)) throw error;
      found.push(error);
    });
  });
  if (found.length === faults.length) throw found[0] ?? new Error('unreachable: there are faults');
  return found.map(({ message }) => message);
}

export const CHECK: Check = {
  number: 38,
  name: 'hosts',
  quick: true,
  run: () => {
    requireChromium();
    return attack(VAULT_BIN, 'browser');
  },
  control,
};
