import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Check, CheckFailure } from './check.ts';
import { ask, startDaemon } from './daemon-process.ts';
import { makeFolder } from './folder.ts';
import { assertStrace } from './io-faults-strace.ts';
import { builtText, withPatch } from './patched-product.ts';
import { makeVaultFile } from './vault-file.ts';

const REPORTED = builtText('EIO:"disk_error"');

interface DiskFault {
  readonly calls: string;
  readonly errno: string;
  /** Whether only calls on the write-ahead log fail, so that the probe passes. */
  readonly isLogOnly?: boolean;
  readonly status: number;
  readonly code: string;
  /** The status of `/readyz` while writes fail. */
  readonly ready: 200 | 503;
}

const ALL = 'pwrite64,fsync,fdatasync';
const ERROR = { status: 503, code: 'disk_error', ready: 503 } as const;
const FULL = { status: 507, code: 'no_space', ready: 200 } as const;

const FAULTS: Readonly<Record<string, DiskFault>> = {
  'writes end in EIO': { calls: ALL, errno: 'EIO', ...ERROR },
  'writes end in EPERM': { calls: ALL, errno: 'EPERM', ...ERROR },
  'writes end in EROFS': { calls: ALL, errno: 'EROFS', status: 503, code: 'read_only', ready: 503 },
  'writes end in ENOSPC': { calls: ALL, errno: 'ENOSPC', ...FULL },
  'writes end in EDQUOT': { calls: ALL, errno: 'EDQUOT', ...FULL },
  'writes end in EFBIG': { calls: ALL, errno: 'EFBIG', ...FULL },
  'syncs end in EIO': { calls: 'fsync,fdatasync', errno: 'EIO', ...ERROR },
  'only the log fails': { calls: 'pwrite64', errno: 'EIO', isLogOnly: true, ...ERROR },
};

const MAX_WAIT_MS = 5000;

/** Runs one daemon whose disk fails for a while. Resolves to what it did wrong, or to undefined. */
async function failDisk(name: string, fault: DiskFault, bin?: string): Promise<string | undefined> {
  using folder = makeFolder();
  using elsewhere = makeFolder();
  const log = join(elsewhere.path, 'log');
  const vault = await makeVaultFile(folder.path);
  await using daemon = await startDaemon({
    file: vault.file,
    readyFile: join(elsewhere.path, 'ready.json'),
    // With the default audit, reads of plaintext write.
    flags: ['--audit', 'mutations'],
    logFile: log,
    bin,
  });
  const call = (path: string, body?: object) => ask(daemon.url, vault.everything, path, body);
  const create = (id: string) => call('/tokens', { id, type: 'token', data: id });
  if ((await create('before')).status !== 201) return 'the disk fails too early';
  const onLog = fault.isLogOnly ? ['-P', `${vault.file}-wal`] : [];
  const inject = ['-e', `trace=${fault.calls}`, '-e', `inject=${fault.calls}:error=${fault.errno}`];
  const words = ['-f', '-qq', '-o', join(elsewhere.path, 'strace'), ...onLog, ...inject];
  const strace = spawn('strace', [...words, '-p', String(daemon.pid)]);
  const ended = once(strace, 'exit');
  let failed = await create('during-0');
  for (let at = 1; failed.status === 201 && at < MAX_WAIT_MS / 20; at += 1) {
    await sleep(20);
    failed = await create(`during-${at}`);
  }
  const [read, ready] = [await call('/tokens/before'), await call('/readyz')];
  strace.kill('SIGINT');
  await ended;
  const problem = `urn:token-vault:problem:${fault.code}`;
  if (failed.status !== fault.status || failed.body['type'] !== problem) {
    return `${name}: a create is answered ${failed.status} ${failed.body['type']}`;
  }
  if (read.status !== 200) return `${name}: a read is answered ${read.status}`;
  if (ready.status !== fault.ready) return `${name}: /readyz is answered ${ready.status}`;
  if (fault.ready === 503 && !/^Writes fail since \d{4}-.*Z\.$/.test(String(ready.body['detail']))) {
    return `${name}: /readyz says ${ready.body['detail']}`;
  }
  const probe = fault.errno === 'ENOSPC' && fault.calls === ALL ? undefined : fault.isLogOnly ? 'passed' : fault.errno;
  const lines = readFileSync(log, 'utf8').trim().split('\n');
  const logged = lines.map((line) => JSON.parse(line)).find(({ error }) => error === fault.code);
  if (!String(logged?.code).startsWith('SQLITE_') || logged?.probe !== probe) {
    return `${name}: the log has ${JSON.stringify(logged)}`;
  }
  const after = await create('after');
  if (after.status !== 201) return `${name}: the disk works again, and a create is answered ${after.status}`;
  const recovered = await call('/readyz');
  if (recovered.status !== 200) return `${name}: the disk works again, and /readyz is answered ${recovered.status}`;
  const left = readdirSync(folder.path).filter((file) => file.endsWith('.probe'));
  return left.length === 0 ? undefined : `${name}: leaves ${left}`;
}

async function failAll(faults: readonly (readonly [string, DiskFault])[], bin?: string) {
  assertStrace();
  for (const [name, fault] of faults) {
    const wrong = await failDisk(name, fault, bin);
    if (wrong !== undefined) throw new CheckFailure(wrong, { faults: faults.length });
  }
  return { faults: faults.length, wrong: 0 };
}

export const CHECK: Check = {
  number: 37,
  name: 'failing disk',
  quick: true,
  run: () => failAll(Object.entries(FAULTS)),
  /** Runs a product that takes every failed write for a full disk, as it was before the probe. */
  control: () => withPatch([REPORTED, 'EIO:"no_space"'], (bin) => failAll(Object.entries(FAULTS).slice(0, 1), bin)),
};
