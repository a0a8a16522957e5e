import { expect, it } from 'vitest';
import type { FaultCode } from '../../src/contract/faults.ts';
import type { ProblemCode } from '../../src/contract/problems.ts';
import { Fault } from '../../src/core/fault.ts';
import { createDevSnapshots } from '../../src/http/dev-snapshots.ts';

it.each<[FaultCode, ProblemCode]>([
  ['usage', 'invalid_request'],
  ['not_found', 'snapshot_not_found'],
  ['file_exists', 'snapshot_conflict'],
  ['conflict', 'snapshot_conflict'],
  ['damaged', 'integrity_failure'],
  ['no_space', 'no_space'],
])('the fault %s of a snapshot is the problem %s, without its message', async (fault, code) => {
  const fail = () => Promise.reject(new Fault(fault, '/home/somebody/vault.db'));
  const snapshots = createDevSnapshots({ list: fail, save: fail, load: fail, delete: fail });
  for (const work of [snapshots.list(), snapshots.save({ name: 'a' }), snapshots.load('a'), snapshots.delete('a')]) {
    const problem: unknown = await work.catch((error: unknown) => error);
    expect(problem).toMatchObject({ name: 'Problem', code });
    expect(JSON.stringify(problem)).not.toContain('somebody');
  }
});

it.each([
  [{ name: 'a' }, false],
  [{ name: 'a', replace: true }, true],
])('a save of %j replaces another snapshot: %s', async (sent, replaces) => {
  const save = async (_name: string, { replace }: { readonly replace: boolean }) => ({ replace });
  const none = () => Promise.reject(new Error('unused'));
  const snapshots = createDevSnapshots({ list: none, save, load: none, delete: none });
  expect(await snapshots.save(sent)).toEqual({ replace: replaces });
});
