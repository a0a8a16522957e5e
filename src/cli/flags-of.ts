import type { FlagRow } from './global-flags.ts';

/**
 * What was typed: a list for `<path...>`, a text for `<path>`, a boolean for a switch. A flag that was not given is absent:
 * its environment variable is looked up where it is used.
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
