const { CASES, FAR, runCalls } = require('./run-calls.cjs');
const api = { ...require('token-vault'), ...require('token-vault/client'), ...require('token-vault/testing') };

test.each(CASES)(
  'the calls, %s, with fakes: %j',
  async (mode, faked) => {
    if (faked) jest.useFakeTimers({ now: FAR });
    await runCalls(mode, api);
    jest.useRealTimers();
  },
  60_000,
);
