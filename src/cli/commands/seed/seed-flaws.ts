import { Fault } from '../../../core/fault.ts';
import type { SeedText } from './read-seed-file.ts';

/** Counts the rest: a longer list is not read. */
const MAX_REPORTED = 20;

/** Collects the errors in the files of one seed, by the dotted paths of members, to report them together. */
export interface SeedFlaws {
  add(text: SeedText, path: string, message: string): void;
  /** Whether something is wrong with this member, or inside it. */
  has(text: SeedText, path: string): boolean;
  /** Whether something is wrong with this member itself. */
  hasAt(text: SeedText, path: string): boolean;
  /** Throws the fault `invalid_data` that names them in the order of the files, with file, line and member. */
  throwAny(): void;
}

interface Flaw {
  readonly text: SeedText;
  readonly path: string;
  readonly line: string;
}

export function createSeedFlaws(texts: readonly SeedText[]): SeedFlaws {
  const found: Flaw[] = [];
  const known = new Set<string>();
  return {
    add(text, path, message) {
      const line = `${placeOf(text, path)}: ${message}`;
      if (!known.has(line)) found.push({ text, path, line });
      known.add(line);
    },
    has: (text, path) => found.some((one) => one.text === text && `${one.path}.`.startsWith(`${path}.`)),
    hasAt: (text, path) => found.some((one) => one.text === text && one.path === path),
    throwAny() {
      if (found.length === 0) return;
      const order = ({ text: a, path }: Flaw, { text: b, path: other }: Flaw) =>
        texts.indexOf(a) - texts.indexOf(b) || a.lineOf(path) - b.lineOf(other);
      throw invalidSeed(found.toSorted(order).map(({ line }) => line));
    },
  };
}

/** The fault of these lines: a single one is its message. */
export function invalidSeed(lines: readonly string[]): Fault {
  const [only = '', ...others] = lines;
  if (others.length === 0) return new Fault('invalid_data', only);
  const more = lines.length - MAX_REPORTED;
  const details = [...lines.slice(0, MAX_REPORTED), ...(more > 0 ? [`… and ${more} more`] : [])];
  return new Fault('invalid_data', `the seed has ${lines.length} errors`, { details });
}

/** `seed.yaml:12: tokens.visa.data`; of the whole file, `seed.yaml:1`. */
export function placeOf(text: SeedText, path: string): string {
  const line = `${text.file}:${text.lineOf(path)}`;
  return path === '' ? line : `${line}: ${path}`;
}
