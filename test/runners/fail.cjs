// In jest, mocha and vitest with globals.
const forgotten = require('./forgotten.cjs');

(globalThis.test ?? globalThis.it)('fails before stop', async () => {
  await forgotten();
  throw new Error('failed');
});
