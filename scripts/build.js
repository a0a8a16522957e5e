/**
 * Generates all files that are not written by hand.
 *
 *   node scripts/build.js [validators|bundle|types …]      default: all steps, in this order
 *
 *   validators  src/**\/*.generated.*    the contract's schemas, compiled by ajv, and the types of the client
 *   bundle      dist/                    the product, bundled by esbuild
 *   types       dist/types/              declarations for programs that import the product
 */
const STEPS = {
  validators: async () => {
    await (await import('./build-validators.js')).generateValidators();
    (await import('./build-types.js')).generateClientTypes();
  },
  bundle: async () => (await import('./build-bundle.js')).bundle(),
  types: async () => (await import('./build-types.js')).emitTypes(),
};
const asked = process.argv.slice(2);
for (const name of asked.length > 0 ? asked : Object.keys(STEPS)) {
  const started = performance.now();
  await STEPS[name]();
  process.stdout.write(`build: ${name} (${Math.round(performance.now() - started)} ms)\n`);
}
