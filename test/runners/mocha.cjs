const sinon = require('sinon');
const { CASES, FAR, runCalls } = require('./run-calls.cjs');
const api = { ...require('token-vault'), ...require('token-vault/client'), ...require('token-vault/testing') };

for (const [mode, faked] of CASES) {
  it(`makes the calls, ${mode}, with fakes: ${faked}`, async () => {
    const clock = faked ? sinon.useFakeTimers({ now: FAR, toNotFake: ['nextTick', 'queueMicrotask'] }) : undefined;
    await runCalls(mode, api);
    clock?.restore();
  }).timeout(60_000);
}
