import { createHash, type Hash, randomBytes } from 'node:crypto';
import { parseText } from '../../../client/decode-problem.ts';
import { Fault } from '../../../core/fault.ts';
import { readReplaceable } from '../../../paths/replaceable.ts';
import { reasonOf } from '../../exit/error-reason.ts';
import { writeWholeFile } from '../../files/whole-file.ts';
import { derivedId, factsOf, type ImportRow, withId } from './import-row.ts';

/**
 * The progress of an import, stored as JSON in a file (0600) that each write replaces. `secret` has 64 hex digits; rows
 * without an id get an id derived from it, so that no run of the journal creates a token twice. `rows` counts the
 * finished rows, `refused` counts those that were rejected, and `sha256` is a digest of the finished rows.
 */
interface JournalState {
  readonly version: 1;
  readonly secret: string;
  readonly rows: number;
  readonly refused: number;
  readonly sha256: string;
}

/** Opens a journal or creates one. Throws the fault `invalid_data` for another file. */
export async function openJournal(path: string) {
  const found = readJournal(path);
  let state: JournalState = found ?? {
    version: 1,
    secret: randomBytes(32).toString('hex'),
    rows: 0,
    refused: 0,
    sha256: digestOf(createHash('sha256')),
  };
  const write = (next: JournalState) => writeWholeFile('--resume', path, `${JSON.stringify(next)}\n`, 'replace');
  // Write the secret before the first row, so that the next run of a killed import derives the same ids.
  if (found === undefined) await write(state);
  const { rows: done, refused, secret } = state;
  const hash = createHash('sha256');

  return {
    /** The number of rows that earlier runs finished. */
    done,
    /** The number of these rows that were rejected. */
    refused,

    /** Yields the remaining rows, each with an id. Throws `conflict` if the finished rows differ from the journal's. */
    async *remaining(rows: AsyncIterable<ImportRow>): AsyncGenerator<ImportRow> {
      let passed = 0;
      for await (const row of rows) {
        hash.update(`${row.body}\n`);
        passed += 1;
        if (passed === done && digestOf(hash) !== state.sha256) throw foreign(path);
        if (passed <= done) continue;
        const isNamed = factsOf(row.body).id !== undefined;
        yield isNamed ? row : { ...row, body: withId(row.body, derivedId(secret, row.line)), hasDerivedId: true };
      }
      if (passed < done) throw foreign(path);
    },

    /**
     * Returns a function that records that the rows read so far, the first `rows` of the remaining ones, are finished,
     * of which `more` were rejected.
     */
    mark(rows: number): (more: number) => Promise<void> {
      const sha256 = digestOf(hash);
      return async (more) => {
        state = { ...state, rows: done + rows, refused: refused + more, sha256 };
        await write(state);
      };
    },
  };
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function digestOf(hash: Hash): string {
  return hash.copy().digest('hex');
}

function foreign(path: string): Fault {
  return new Fault('conflict', `--resume: ${path} is the journal of another import`, {
    hint: 'name a new journal, or import the original file',
  });
}

function readJournal(path: string): JournalState | undefined {
  let text: string | undefined;
  try {
    text = readReplaceable(path, '--resume')?.toString('utf8');
  } catch (error) {
    if (error instanceof Fault) throw error;
    throw new Fault('usage', `--resume: ${path} cannot be read (${reasonOf(error)})`, { cause: error });
  }
  if (text === undefined) return undefined;
  const state = parseText(text) as JournalState | null | undefined;
  const isWhole =
    state?.version === 1 &&
    /^[0-9a-f]{64}$/.test(state.secret) &&
    isCount(state.rows) &&
    isCount(state.refused) &&
    /^[0-9a-f]{64}$/.test(state.sha256);
  if (isWhole) return state;
  throw new Fault('invalid_data', `--resume: ${path} is not the journal of an import`);
}
