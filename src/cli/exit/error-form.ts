import type { Environment } from '../flags/global-flags.ts';

let typed: string | undefined;
let isJson = false;

/**
 * Reads the form of errors from the words and the environment of a command line. `-o json` and VAULT_OUTPUT=json ask for
 * JSON; the default of a pipe does not. Reads also words that the parser rejects, because that is an error, too.
 */
export function readErrorForm(words: readonly string[], env: Environment): void {
  typed = typedValue(words, '--output', '-o');
  useErrorForm(env);
}

/** Uses the form of errors in an environment, such as one with the values of a profile. A typed `-o` overrides it. */
export function useErrorForm(env: Environment): void {
  isJson = (typed ?? env['VAULT_OUTPUT']) === 'json';
}

/** Returns whether the command line asks for JSON, so that an error is a JSON object. */
export const wantsJsonErrors = (): boolean => isJson;

/** Returns the last value of a flag in the words before `--`. The words of `vault exec` belong to another program. */
export function typedValue(words: readonly string[], long: string, short?: string): string | undefined {
  const end = words.indexOf('--');
  const own = words[0] === 'exec' ? [] : end < 0 ? words : words.slice(0, end);
  const values = own.flatMap((word, at) => {
    if (word === long || word === short) return own.slice(at + 1, at + 2);
    if (word.startsWith(`${long}=`)) return [word.slice(long.length + 1)];
    return short !== undefined && /^-\w./.test(word) && word.startsWith(short) ? [word.slice(2)] : [];
  });
  return values.at(-1);
}
