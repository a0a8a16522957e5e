import type { FlagRow } from './global-flags.ts';

/**
 * The typed flags: a list for `<path...>`, a text for `<path>`, a boolean for a switch. Flags that were not typed are
 * absent; the code that uses them reads their environment variables.
 */
export type FlagsOf<Rows extends Readonly<Record<string, FlagRow>>> = {
  readonly [Name in keyof Rows]?: FlagValue<Rows[Name]['flag']>;
};

type FlagValue<Flag extends string> = Flag extends `${string}...>`
  ? readonly string[]
  : Flag extends `${string}[${string}`
    ? string | boolean
    : Flag extends `${string}<${string}`
      ? string
      : boolean;
