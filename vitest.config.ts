import { accessSync, constants, readFileSync, statfsSync } from 'node:fs';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The files that take longest. They start first; `--mode quick` leaves them out. */
const SLOW = [
  'conformance/store-postgres',
  'contract/openapi',
  'postgres/interrupted-prune',
  'postgres/races',
  'process/cli-manners',
  'process/cli-prompts',
  'process/exec',
  'process/key-rotation',
  'process/start-vault-end',
  'process/transfer',
  'process/writer-thread',
  'scripts/scripts',
  'scripts/store-scripts',
  'unit/audit',
  'unit/compact',
  'unit/doctor',
  'unit/hidden-tokens',
  'unit/keyring-slots',
  'unit/list-scan',
  'unit/list-slices',
  'unit/log-residue',
  'unit/logs',
  'unit/open-vault',
  'unit/pages-of-a-create',
  'unit/prune-audit',
  'unit/reach',
  'unit/rotate-tenant',
  'unit/seed-apply',
  'unit/token-walks',
  'unit/tokenize',
  'unit/update-unread',
].map((name) => `test/${name}.test.ts`);

/** Long files outside `npm test`. `--mode long` runs only them: `npm run test:long`, also in .ci/run. */
const LONG = [
  'checks/model-fuzz',
  'conformance/store-postgres-alone',
  'postgres/altered-rows',
  'postgres/damaged-tenant',
  'postgres/hidden-tokens',
  'postgres/interrupted-prune',
  'postgres/move',
  'process/certificate-under-load',
  'scripts/store-scripts',
].map((name) => `test/${name}.test.ts`);

/** A folder in memory. No test needs its files after a power loss, and syncing them to a disk takes long. */
const MEMORY = '/dev/shm';
/** More than the tests ever use, in bytes. */
const ENOUGH = 4 * 2 ** 30;

function hasRoom(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    const { bavail, bsize } = statfsSync(folder);
    const mounts = readFileSync('/proc/mounts', 'utf8').split('\n');
    // Some tests run programs from their folder.
    const runsPrograms = !mounts.some((line) => line.includes(` ${folder} `) && /\bnoexec\b/.test(line));
    return runsPrograms && bavail * bsize > ENOUGH;
  } catch {
    return false;
  }
}
// Workers, their processes and the server of the global setup inherit it.
if (process.env['TMPDIR'] === undefined && hasRoom(MEMORY)) process.env['TMPDIR'] = MEMORY;

/** Starts slow files first, so that no worker runs one alone at the end. */
class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isSlow = ({ moduleId }: TestSpecification) => SLOW.some((name) => moduleId.endsWith(name));
    return (await super.sort(files)).toSorted((a, b) => Number(isSlow(b)) - Number(isSlow(a)));
  }
}

export default defineConfig(({ mode }) => ({
  test: {
    include: mode === 'long' ? LONG : ['test/**/*.test.ts'],
    globalSetup: 'test/postgres/global-setup.ts',
    // `npm run check:console` and `npm run check:users` run these.
    exclude: [
      'test/console/**',
      'test/users/**',
      'test/bench/**',
      // Check 19 names its test files, long ones, too.
      ...(mode === 'long' || mode === 'all' ? [] : LONG),
      ...(mode === 'quick' ? SLOW : []),
    ],
    // Processes, not threads: each opens files and starts daemons of its own, and a native module is loaded in most.
    pool: 'forks',
    isolate: false,
    sequence: { sequencer: SlowFirst },
    // More than the two cores: some files mostly wait for processes, signals and locks.
    maxWorkers: 4,
    testTimeout: 20_000,
    hookTimeout: 20_000,
  },
}));
