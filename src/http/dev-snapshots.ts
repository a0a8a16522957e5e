import type { FaultCode } from '../contract/faults.ts';
import { Fault } from '../core/fault.ts';
import { invalid, Problem } from '../core/problem.ts';
import type { DevControls } from './daemon-options.ts';

/**
 * The problem for each fault of a snapshot. A fault's own message may contain a path of this machine, so it is not
 * sent.
 */
const PROBLEM_OF: Readonly<Partial<Record<FaultCode, () => Problem>>> = {
  usage: () => invalid('name', 'must be 1 to 64 lower-case letters, digits, - and _'),
  not_found: () => new Problem('snapshot_not_found'),
  file_exists: () =>
    new Problem('snapshot_conflict', { detail: 'A snapshot with this name exists; send `replace` to overwrite it.' }),
  conflict: () =>
    new Problem('snapshot_conflict', {
      detail: 'The snapshot is one of another vault, or its key was replaced.',
    }),
  damaged: () =>
    new Problem('integrity_failure', { detail: 'The snapshot is damaged; the snapshot list describes the damage.' }),
  locked_by_other: () => new Problem('vault_busy'),
  no_space: () => new Problem('no_space'),
};

/** Returns the actions of a `--dev` daemon on the snapshots of its vault. */
export function createDevSnapshots(snapshots: DevControls['snapshots']) {
  async function asProblem<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      throw (error instanceof Fault && PROBLEM_OF[error.code]?.()) || error;
    }
  }

  return {
    list: async () => ({ data: await asProblem(snapshots.list()) }),
    save: async (sent: Readonly<Record<string, unknown>>) => {
      const { name, replace = false, ...others } = sent;
      const [stray] = Object.keys(others);
      if (stray !== undefined) throw invalid(stray, 'is not a member; the members are name and replace');
      if (typeof replace !== 'boolean') throw invalid('replace', 'must be true or false');
      return asProblem(snapshots.save(typeof name === 'string' ? name : '', { replace }));
    },
    load: (name: string) => asProblem(snapshots.load(name)),
    delete: async (name: string) => {
      await asProblem(snapshots.delete(name));
      return { name };
    },
  };
}
