/**
 * Makes everything that is not written by hand, in this order:
 *   1. src/core/*validators.generated.{js,d.ts}   the contract's schemas, compiled (scripts/build-validators.js)
 *   2. dist/**                                    the product, bundled            (scripts/build-bundle.js)
 *   3. dist/*.cjs.cache                           what V8 makes of it            (scripts/build-code-cache.js)
 *   4. dist/types/**                              declarations for importers      (tsc -p tsconfig.build.json)
 * Only files whose content changed are written, so that a build beside running tests disturbs nothing.
 *
 *   node scripts/build.js [validators|bundle|cache|types …]      no argument: all
 */
import { bundle } from './build-bundle.js';
import { makeCodeCache } from './build-code-cache.js';
import { emitTypes } from './build-types.js';
import { generateValidators } from './build-validators.js';

const STEPS = { validators: generateValidators, bundle, cache: makeCodeCache, types: emitTypes };

const asked = process.argv.slice(2);
const unknown = asked.filter((name) => !Object.hasOwn(STEPS, name));
if (unknown.length > 0) {
  process.stderr.write(`build: unknown step ${unknown.join(', ')}; the steps are ${Object.keys(STEPS).join(', ')}\n`);
  process.exit(2);
}
for (const [name, step] of Object.entries(STEPS)) {
  if (asked.length > 0 && !asked.includes(name)) continue;
  const started = performance.now();
  try {
    const summary = await step();
    process.stdout.write(`build: ${name}: ${summary} (${Math.round(performance.now() - started)} ms)\n`);
  } catch (error) {
    process.stderr.write(`build: ${name} failed: ${error.message}\n`);
    process.exit(1);
  }
}
