import type { Rule } from './rules.ts';

/** Matches `x ??= f(…)`, `this.#x ??= a.f(…)` and `x ??= a ? f(…) : g(…)`, but not `await` and not `new`. */
const KEPT = /(?<![\w.[])(?:this\.)?(#?\w+) \?\?= (?!await |new )[^;]*?\(/g;

/** Matches the handler of a rejection at the end of a `then`, within this many characters of the statement. */
const HANDLED = /,\s*\(\) => undefined,?\s*\);/;
const STATEMENT = 200;

/** An end happens once, so each caller may get the rejection of the first. */
const ENDS = /^#?(?:closing|stopped)$/;

/**
 * Rejects `x ??= f()` if `f` may return a promise, because a rejected promise would then be kept for the life of the
 * process. Allows a variable whose declared type has no promise, and one that the file sets to undefined again.
 */
export const noKeptRejections: Rule = (sources) =>
  [...sources].flatMap(([file, text]) => {
    if (!file.startsWith('src/')) return [];
    const found = [...text.matchAll(KEPT)].filter(({ index }) => !HANDLED.test(text.slice(index, index + STATEMENT)));
    const names = found.map(([, name = '']) => name);
    const kept = names.filter((name) => !ENDS.test(name) && mayBePromise(text, name) && !isReset(text, name));
    return kept.map((name) => `${file}: ${name} keeps a rejected promise; use loadedOnce`);
  });

function mayBePromise(text: string, name: string): boolean {
  const [, type] = new RegExp(`(?:\\b(?:let|const) |^\\s*)${name}\\??: ([^=;]+)`, 'm').exec(text) ?? [];
  return type === undefined || type.includes('Promise<');
}

function isReset(text: string, name: string): boolean {
  return new RegExp(`(?<!(?:let|const) )(?:this\\.)?(?<![\\w#])${name} = undefined`).test(text);
}
