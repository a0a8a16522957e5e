import type { Environment } from '../global-flags.ts';

/** Colour only on a terminal, never with `--no-color`, a non-empty `NO_COLOR` or `TERM=dumb`. */
export function wantsColour(isTerminal: boolean, typed: boolean | undefined, env: Environment): boolean {
  return isTerminal && typed !== false && !env['NO_COLOR'] && env['TERM'] !== 'dumb';
}
