import type { Answers, StepRunner, StoreSteps } from '../rows/store-steps.ts';
import { type Connections, INSPECT, type Run, type Transaction } from './connections.ts';
import { numbered, type Statement } from './sql-client.ts';

/** Runs steps: `run` sends the statements, `record` writes the entries. */
export async function perform<T>(run: Run, steps: StoreSteps<T>, record?: Transaction['record']): Promise<T> {
  for (let answers: Answers = []; ; ) {
    const { done, value } = steps.next(answers);
    if (done) return value;
    if ('entry' in value) {
      await record?.(value.entry);
      answers = [];
    } else answers = await Promise.all(value.map(({ name, sql, params }) => run(toStatement(sql, name), params)));
  }
}

function toStatement(sql: string, name: string | undefined): Statement {
  const text = numbered(sql);
  return name === undefined ? text : { name, text };
}

/** Returns the runner of steps on these connections. */
export function stepRunnerOn({ read, readSnapshot, inspectSnapshot, change }: Connections): StepRunner {
  return {
    read: (steps) => perform(read, steps()),
    readSlow: (steps) => readSnapshot((run) => perform(run, steps())),
    inspectSnapshot: (steps) =>
      inspectSnapshot(async (run) => {
        const [, result] = await Promise.all([run(INSPECT), perform(run, steps())]);
        return result;
      }),
    change: (_residue, steps) => change(({ run, record }) => perform(run, steps(), record)),
  };
}
