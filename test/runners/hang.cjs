const forgotten = require('./forgotten.cjs');
const hang = async () => {
  await forgotten();
  await new Promise((resolve) => setTimeout(resolve, 1e6));
};

// In jest, or as a program.
if (globalThis.test === undefined) hang();
else test('hangs', hang, 1e6);
