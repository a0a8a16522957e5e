import { Fault } from '../../../core/fault.ts';
import type { SeedText } from './read-seed-file.ts';

/** The maximum number of flaws that an error lists. It counts the others. */
const MAX_REPORTED = 20;

/** The errors in the files of one seed, by dotted path. */
export type SeedFlaws = ReturnType<typeof createSeedFlaws>;

interface Flaw {
  readonly text: SeedText;
  readonly path: string;
  readonly line: string;
}

/** Returns functions that collect errors, to report them together. */
export function createSeedFlaws(texts: readonly SeedText[]) {
  const found: Flaw[] = [];
  const known = new Set<string>();
  return {
    add(text: SeedText, path: string, message: string): void {
      const line = `${text.positionOf(path)}: ${message}`;
      if (!known.has(line)) found.push({ text, path, line });
      known.add(line);
    },
    /** Returns whether this member or a member inside it has a flaw. */
    has: (text: SeedText, path: string) =>
      found.some((one) => one.text === text && `${one.path}.`.startsWith(`${path}.`)),
    /** Returns whether this member itself has a flaw. */
    hasAt: (text: SeedText, path: string) => found.some((one) => one.text === text && one.path === path),
    /** Throws the fault `invalid_data` if there are flaws. It lists them with file, line and member, in file order. */
    throwAny(): void {
      if (found.length === 0) return;
      const order = ({ text: a, path }: Flaw, { text: b, path: other }: Flaw) =>
        texts.indexOf(a) - texts.indexOf(b) || a.lineOf(path) - b.lineOf(other);
      throw invalidSeed(found.toSorted(order).map(({ line }) => line));
    },
  };
}

/** Returns the fault `invalid_data` with these lines as its details. A single line becomes its message. */
export function invalidSeed(lines: readonly string[]): Fault {
  const [only = '', ...others] = lines;
  if (others.length === 0) return new Fault('invalid_data', only);
  const more = lines.length - MAX_REPORTED;
  const details = [...lines.slice(0, MAX_REPORTED), ...(more > 0 ? [`… and ${more} more`] : [])];
  return new Fault('invalid_data', `the seed has ${lines.length} errors`, { details });
}
