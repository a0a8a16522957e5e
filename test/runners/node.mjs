import { mock, test } from 'node:test';
import { CASES, FAR, runCalls } from './run-calls.cjs';

// Not static imports: `node-first.mjs` fakes the timers before it imports this file.
const library = await import('token-vault');
const client = await import('token-vault/client');
const testing = await import('token-vault/testing');

for (const [mode, faked] of CASES) {
  test(`the calls, ${mode}, with fakes: ${faked}`, { timeout: 60_000 }, async () => {
    if (faked) mock.timers.enable({ now: FAR });
    await runCalls(mode, { ...library, ...client, ...testing });
    mock.timers.reset();
  });
}
