const { runCalls } = require('./run-calls.cjs');
const api = { ...require('token-vault'), ...require('token-vault/client'), ...require('token-vault/testing') };

(async () => {
  for (const mode of ['in-process', 'child']) await runCalls(mode, api);
})();
