import { test, vi } from 'vitest';
import { CASES, FAR, runCalls } from './run-calls.cjs';

// Not static imports: `vitest-first.mjs` fakes the timers before it imports this file.
const [library, client, testing] = await Promise.all([
  import('token-vault'),
  import('token-vault/client'),
  import('token-vault/testing'),
]);

test.each(CASES)('the calls, %s, with fakes: %j', { timeout: 60_000 }, async (mode, faked) => {
  if (faked) vi.useFakeTimers({ now: FAR });
  await runCalls(mode, { ...library, ...client, ...testing });
  vi.useRealTimers();
});
