import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Environment } from '../run-vault.ts';
import { checkControl, type RunnerFault } from './controls.ts';
import { docBlocks } from './doc-blocks.ts';
import { environment, execute } from './execute.ts';
import { checkNothingLeft } from './left-over.ts';
import { type Files, fill, type projectsIn } from './projects.ts';
import { checkExpected, compareCalls, type Results, temporaryOf } from './run-calls.ts';
import { checkTypes } from './types.ts';

const JEST = { 'a.test.cjs': 'jest.cjs', 'b.test.cjs': 'jest-first.cjs' };
const FOUR = { ...JEST, 'c.test.cjs': 'jest.cjs', 'd.test.cjs': 'jest-first.cjs' };
const VITEST = { 'a.test.mjs': 'vitest.mjs', 'b.test.mjs': 'vitest-first.mjs' };

/** The test runners. Each makes the calls in four ways a file: both modes, with and without fake timers. */
const RUNNERS = [
  { name: 'jest -w 2, four files', files: FOUR, line: 'jest -w 2 --env=node', runs: 16 },
  { name: 'jest -i, two files', files: JEST, line: 'jest -i --env=node', runs: 8 },
  { name: 'jest, jsdom', files: JEST, line: 'jest -i --env=jsdom', runs: 8 },
  { name: 'vitest, forks', files: VITEST, line: 'vitest run --pool=forks', runs: 8 },
  { name: 'vitest, threads', files: VITEST, line: 'vitest run --pool=threads', runs: 8 },
  { name: 'vitest, vmThreads', files: VITEST, line: 'vitest run --pool=vmThreads', runs: 8 },
  { name: 'vitest, vmForks', files: VITEST, line: 'vitest run --pool=vmForks', runs: 8 },
  { name: 'vitest, jsdom', files: VITEST, line: 'vitest run --environment=jsdom', runs: 8 },
  { name: 'node:test', files: {}, line: 'node --test node.mjs', runs: 4 },
  { name: 'mocha and sinon', files: {}, line: 'mocha mocha.cjs && mocha mocha-first.cjs', runs: 8 },
  { name: 'tsx', files: { 'plain.mts': 'plain.mjs' }, line: 'tsx plain.mts', runs: 2 },
  { name: 'ES modules', files: {}, line: 'node plain.mjs', runs: 2 },
];

const JEST_FAIL = { 'fail.test.cjs': 'fail.cjs' };
const VITEST_FAIL = (pool: string) => `vitest run --globals --pool=${pool} fail.test.cjs`;
/** A program that does not stop its child vault. */
interface Forgetting {
  readonly name: string;
  readonly files: Files;
  readonly line: string;
  readonly signal?: NodeJS.Signals;
}

/** A part of the check. */
export interface Part {
  readonly name: string;
  check(): Promise<unknown>;
}

/** Runs of a test that fails before it stops its child vault. */
const FAILING: readonly Forgetting[] = [
  { name: 'jest -i', files: JEST_FAIL, line: 'jest -i' },
  { name: 'jest', files: { ...JEST_FAIL, 'a.test.cjs': 'pass.cjs' }, line: 'jest -w 2' },
  { name: 'vitest, forks', files: JEST_FAIL, line: VITEST_FAIL('forks') },
  { name: 'vitest, threads', files: JEST_FAIL, line: VITEST_FAIL('threads') },
  { name: 'node:test', files: {}, line: 'node --test fail-node.cjs' },
  { name: 'mocha', files: {}, line: 'mocha fail.cjs' },
];

const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGKILL', 'SIGQUIT'] as const;
/** Programs that get a signal while a child vault runs. */
const PARENTS: readonly Forgetting[] = [
  { name: 'node', files: {}, line: 'node hang.cjs' },
  { name: 'jest', files: { 'hang.test.cjs': 'hang.cjs' }, line: 'jest -i' },
];

/**
 * Returns the parts of the check: `preparations`, which run one after another before all others, and `parts`, in the
 * order in which they start.
 */
export function partsOf(projects: ReturnType<typeof projectsIn>) {
  const { npm } = projects;
  const bin = path.join(npm, 'node_modules/.bin');
  const installed = path.join(npm, 'node_modules/token-vault');
  let expected: Results | undefined;
  let number = 0;

  /** Returns a new folder in the npm project, with a manifest, as a package of its own. */
  function folderOf(files?: Files): string {
    number += 1;
    const folder = path.join(npm, `part-${number}`);
    fill(folder, files);
    writeFileSync(path.join(folder, 'package.json'), '{ "private": true }');
    return folder;
  }

  const compare = (line: string, runs: number, folder: string, more?: Environment) =>
    compareCalls(line, { folder, bin, runs, expected, more });

  /** Makes the calls in a project of another package manager, and `vault init`. */
  async function inProject(make: () => Promise<string>, prefix: string): Promise<void> {
    const folder = await make();
    await compare(`${prefix} node plain.cjs && ${prefix} node plain.mjs`, 4, folder);
    await execute(`${prefix} vault init --file made.db`, { cwd: folder, env: environment([bin]) });
  }

  const plain = {
    name: 'plain Node',
    async check() {
      expected = await compareCalls('node plain.cjs', { folder: folderOf(), bin, runs: 2 });
      checkExpected(expected);
    },
  };
  const first = {
    name: 'node:test, mocked before the import',
    check: async () => {
      const place = { cwd: folderOf(), env: environment([bin]) };
      const output = await execute('node --test node-first.mjs', place, 1);
      if (!output.includes('import token-vault before mock.timers.enable()')) throw new Error(output);
    },
  };
  const blocks = docBlocks().files.map(({ file, text, commands }, index) => ({
    name: `docs/testing.md: ${commands.join(', ')}`,
    async check() {
      const folder = path.join(npm, `block-${index}`);
      mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
      writeFileSync(path.join(folder, 'package.json'), '{ "private": true }');
      writeFileSync(path.join(folder, file), text);
      for (const line of commands) await execute(line, { cwd: folder, env: environment([bin]) });
    },
  }));
  const recipe = {
    name: 'the recipe for jest',
    check: async () => {
      const place = { cwd: folderOf({ 'tokens.test.cjs': '../recipes/tokens.jest.cjs' }), env: environment([bin]) };
      const output = await execute('jest', place);
      if (!output.includes('2 passed')) throw new Error(output);
    },
  };
  const leftOver = [
    ...FAILING.map((failing) => ({ ...failing, name: `a failed test in ${failing.name}` })),
    ...PARENTS.flatMap((parent) =>
      SIGNALS.map((signal): Forgetting => ({ ...parent, name: `${signal} of ${parent.name}`, signal })),
    ),
  ].map(({ name, files, line, signal }) => ({
    name,
    check: () => checkNothingLeft(line, { folder: folderOf(files), bin, signal }),
  }));

  /** An in-process vault does not keep these from ending. */
  const unstopped = FAILING.filter(({ name }) => !name.startsWith('vitest')).map(({ name, files, line }) => ({
    name: `no stop in ${name}`,
    async check() {
      const folder = folderOf(files);
      const { variables } = temporaryOf(folder);
      await execute(line, { cwd: folder, env: environment([bin], { ...variables, RUNNERS_MODE: 'in-process' }) }, 1);
    },
  }));

  /** The fault, the error that its control must have, and a check that the fault fails. */
  const faults: readonly (readonly [RunnerFault, RegExp, (folder: string) => Promise<unknown>])[] = [
    // Only the first test file of a worker has the errors of its own realm.
    [
      'errors of another realm',
      /other results/,
      (folder) => compare('jest -i test.cjs', 2, folder, { RUNNERS_CASES: '1' }),
    ],
    [
      'timers of the test runner',
      /no result in time/,
      (folder) => compare('vitest run a.test.mjs', 2, folder, { RUNNERS_CASES: '2', RUNNERS_MAX_CALL_MS: '5000' }),
    ],
    [
      'a child that outlives its parent',
      /SIGKILL left .*process/,
      (folder) => checkNothingLeft('node hang.cjs', { folder, bin, signal: 'SIGKILL', maxStopMs: 3000 }),
    ],
  ];
  const controls = faults.map(([fault, message, check]) => ({
    name: `control: ${fault}`,
    check: () => {
      const folder = folderOf({ ...JEST, ...VITEST });
      return checkControl(fault, message, { installed, folder, check: () => check(folder) });
    },
  }));

  const preparations: readonly Part[] = [
    { name: 'npm pack', check: projects.pack },
    { name: 'npm install', check: projects.makeNpm },
    plain,
  ];
  const parts: readonly Part[] = [
    { name: 'Yarn 4 with PnP', check: () => inProject(projects.makeYarn, 'yarn') },
    { name: 'pnpm 10', check: () => inProject(projects.makePnpm, 'pnpm exec') },
    ...RUNNERS.map(({ name, files, line, runs }) => ({ name, check: () => compare(line, runs, folderOf(files)) })),
    first,
    ...blocks,
    recipe,
    ...(['node10', 'nodenext'] as const).map((resolution) => ({
      name: `types with ${resolution}`,
      check: () => checkTypes(resolution, path.join(npm, `types-${resolution}`), bin),
    })),
    ...controls,
    ...leftOver,
    ...unstopped,
  ];
  return { preparations, parts };
}
