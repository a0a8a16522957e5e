import type { Rule } from './rules.ts';

/** Matches calls of the methods of `FileHandle` that Yarn's Plug'n'Play does not implement. */
const MISSING = /\.(?:sync|datasync|utimes)\(/g;

/** Rejects methods of `FileHandle` that throw "Method not implemented." under Yarn's Plug'n'Play. */
export const noMissingHandleMethods: Rule = (sources) =>
  [...sources].flatMap(([file, text]) =>
    file.startsWith('src/')
      ? [...text.matchAll(MISSING)].map(([call]) => `${file}: ${call}) is missing under Yarn PnP; use syncFile`)
      : [],
  );
