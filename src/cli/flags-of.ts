import type { FlagRow } from './global-flags.ts';

/**
 * The typed flags of a table: a list for `<path...>`, a string for `<path>`, a boolean for a switch. Flags that were
 * not typed are absent; `flagValue` and `isSwitchedOn` then read their environment variables.
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
