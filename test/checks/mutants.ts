import { type Check, CheckFailure, type CheckOptions, type Figures } from './check.ts';
import { copySources, HARMLESS, MUTANTS, type Mutant, type MutantCopy } from './mutants-run.ts';
import { inParallel, seededNumbers } from './perform.ts';

const SAMPLE = 4;
const COPIES = 2;

/** Runs the tests with all guards in place. They must pass, or a failure without a guard would prove nothing. */
async function testWhole(copy: MutantCopy, mutants: readonly Mutant[]): Promise<number> {
  const files = [...new Set(mutants.flatMap(({ tests }) => tests))];
  const { passed, failed, broken } = await copy.test(files);
  if (failed > 0 || broken !== undefined) {
    throw new CheckFailure(`the tests fail with all guards in place: ${broken ?? `${failed} of them`}`);
  }
  return passed;
}

async function kill(mutants: readonly Mutant[]): Promise<Figures> {
  const copies = Array.from({ length: COPIES }, () => copySources());
  const free = [...copies];
  const survivors: string[] = [];
  try {
    const [first] = copies;
    const tests = first === undefined ? 0 : await testWhole(first, mutants);
    await inParallel(mutants.length, COPIES, async (index) => {
      const [mutant, copy] = [mutants[index], free.pop()];
      if (mutant === undefined || copy === undefined) throw new Error('unreachable: a copy for each worker');
      const { failed, broken } = await copy.testMutant(mutant);
      free.push(copy);
      if (broken !== undefined) throw new Error(`the mutant is no program: ${mutant.name}: ${broken.slice(0, 500)}`);
      if (failed === 0) survivors.push(mutant.name);
    });
    const figures = { mutants: mutants.length, killed: mutants.length - survivors.length, tests_without_mutant: tests };
    if (survivors.length > 0) throw new CheckFailure(`not missed by any test: ${survivors.join('; ')}`, figures);
    return figures;
  } finally {
    for (const copy of copies) copy[Symbol.dispose]();
  }
}

function chosen({ seed, quick }: CheckOptions): readonly Mutant[] {
  if (!quick) return MUTANTS;
  const random = seededNumbers(seed);
  return MUTANTS.map((mutant) => ({ mutant, at: random() }))
    .sort((a, b) => a.at - b.at)
    .slice(0, SAMPLE)
    .map(({ mutant }) => mutant);
}

export const CHECK: Check = {
  number: 19,
  name: 'mutants',
  quick: false,
  runs: 'early',
  run: (options) => kill(chosen(options)),
  control: () => kill([HARMLESS]),
};
