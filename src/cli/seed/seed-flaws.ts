import { Fault } from '../../core/fault.ts';
import type { MemberPath } from './check-schema.ts';
import type { SeedText } from './read-seed-file.ts';

/** More than this nobody reads: the rest is counted. */
const MOST_TOLD = 20;

/** What is wrong with the files of one seed, collected so that all of it is told at once. */
export interface SeedFlaws {
  add(text: SeedText, path: MemberPath, message: string): void;
  /** Whether something is wrong with this member, or inside it. */
  has(text: SeedText, path: MemberPath): boolean;
  /** Whether something is wrong with this member itself. */
  hasAt(text: SeedText, path: MemberPath): boolean;
  /** Throws the fault `invalid_data` that names them in the order of the files, with file, line and member. */
  throwAny(): void;
}

interface Located {
  readonly text: SeedText;
  readonly path: MemberPath;
  readonly line: number;
  readonly said: string;
}

export function createSeedFlaws(texts: readonly SeedText[]): SeedFlaws {
  const found: Located[] = [];
  const known = new Set<string>();
  const has: SeedFlaws['has'] = (text, path) =>
    found.some((one) => one.text === text && path.every((step, at) => one.path[at] === step));
  return {
    add(text, path, message) {
      const said = `${placeOf(text)(path)}: ${message}`;
      if (known.has(said)) return;
      known.add(said);
      found.push({ text, path, line: text.lineOf(path), said });
    },
    has,
    hasAt: (text, path) => found.some((one) => one.text === text && one.path.join('\0') === path.join('\0')),
    throwAny() {
      if (found.length === 0) return;
      const order = [...found].sort((a, b) => texts.indexOf(a.text) - texts.indexOf(b.text) || a.line - b.line);
      throw invalidSeed(order.map(({ said }) => said));
    },
  };
}

/** One error is the fact itself; of several the fact is their number. */
export function invalidSeed(said: readonly string[]): Fault {
  const [only = '', ...others] = said;
  if (others.length === 0) return new Fault('invalid_data', only);
  const more = said.length - MOST_TOLD;
  const details = [...said.slice(0, MOST_TOLD), ...(more > 0 ? [`… and ${more} more`] : [])];
  return new Fault('invalid_data', `the seed has ${said.length} errors`, { details });
}

/** `seed.yaml:12: tokens.visa.data`, for what is wrong with it. */
export const placeOf =
  (text: SeedText) =>
  (path: MemberPath): string => {
    const line = `${text.file}:${text.lineOf(path)}`;
    return path.length === 0 ? line : `${line}: ${path.join('.')}`;
  };
