/**
 * Makes everything that is not written by hand. Writes only files whose content changed, so a build beside running tests
 * disturbs nothing.
 *
 *   node scripts/build.js [validators|bundle|types …]      no argument: all, in this order
 *
 *   validators  src/**\/*.generated.*    the contract's schemas, compiled by ajv, and the types of the client
 *   bundle      dist/                    the product, bundled by esbuild
 *   types       dist/types/              declarations for programs that import it
 */
import { generateValidators } from './build-validators.js';
import { generateClientTypes } from './client-types.js';

const STEPS = {
  validators: async () => `${await generateValidators()}, ${await generateClientTypes()}`,
  bundle: async () => (await import('./build-bundle.js')).bundle(),
  types: async () => (await import('./build-types.js')).emitTypes(),
};
const asked = process.argv.slice(2);
for (const name of asked.length > 0 ? asked : Object.keys(STEPS)) {
  const started = performance.now();
  const summary = await STEPS[name]();
  process.stdout.write(`build: ${name}: ${summary} (${Math.round(performance.now() - started)} ms)\n`);
}
