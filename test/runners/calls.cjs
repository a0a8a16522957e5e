/**
 * The calls that `npm run check:runners` makes in every test runner. Each returns a value for JSON that is the same in
 * every run. They run in this order, on one vault for tests and on vault files in one folder.
 */
const { spawn } = require('node:child_process');
const { copyFileSync, existsSync, readFileSync, writeFileSync } = require('node:fs');
const { request } = require('node:http');
const { runInNewContext } = require('node:vm');

const HOUR = 3_600_000;
const SEED = 'tokens: { pin: { type: token, data: "1234" }, cards: { generate: card, count: 2 } }\n';
const CARD = { number: '4242424242424242', expiration_month: 12, expiration_year: 2040 };
const RULE = { description: 'all', priority: 1, container: '/', transform: 'mask', permissions: ['token:read'] };
const APPLICATION = { name: 'reader', type: 'private', rules: [RULE] };
const KEY = Uint8Array.from({ length: 32 }, (_, index) => index * 7);

/** Holds the write lock of a vault for 300 ms, in another process. */
const HOLD = `const { DatabaseSync } = require('node:sqlite');
const file = new DatabaseSync(process.argv[1]);
file.exec('BEGIN IMMEDIATE');
process.stdout.write('held');
setTimeout(() => file.exec('COMMIT'), 300);`;

/** Resolves to the parts that identify an error, without the ids of the run. */
const errorOf = (promise) =>
  promise.then(
    (value) => ({ value }),
    ({ name, code, status, message }) => ({ name, code, status, message: message.replace(/\/\S+\//g, '') }),
  );

/** Returns whether a time is that of the machine. The new realm has a `Date` that no test mocks. */
const isNow = (time, offset = 0) => Math.abs(time.getTime() - runInNewContext('Date.now()') - offset) < 10_000;

/** The `fetch` of this realm, or one for jest's jsdom, which has none. */
const ownFetch = (...args) => (globalThis.fetch ?? fetchByHttp)(...args);

function fetchByHttp(url, { method, headers, body, signal }) {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers }, (reply) => {
      let text = '';
      reply.setEncoding('utf8').on('data', (piece) => {
        text += piece;
      });
      reply.on('end', () =>
        resolve({
          status: reply.statusCode,
          headers: { get: (name) => reply.headers[name] ?? null },
          text: async () => text,
        }),
      );
    });
    signal.addEventListener('abort', () => {
      sent.destroy();
      reject(signal.reason);
    });
    sent.on('error', reject).end(body);
  });
}

const token = (data, more = {}) => ({ body: { type: 'token', data, ...more } });
const idsOf = ({ data }) => data.map(({ id }) => id);

/** Calls of `token-vault/testing`. `vault` is the started vault. */
const ON_A_VAULT = {
  ids: ({ vault }) => vault.ids,
  keys: ({ vault }) => vault.keys,
  create: ({ vault }) => vault.client.createToken(token('pin', { id: 'first', metadata: { a: 'b' } })).then(timeless),
  get: ({ vault }) => vault.client.getToken({ params: { id: 'first' } }).then(timeless),
  card: ({ vault }) => vault.client.createToken({ body: { id: 'card', type: 'card', data: CARD } }).then(timeless),
  large: async ({ vault }) => {
    await vault.client.createToken(token('x'.repeat(50_000), { id: 'large' }));
    return (await vault.client.getToken({ params: { id: 'large' } })).data.length;
  },
  update: ({ vault }) =>
    vault.client.updateToken({ params: { id: 'first' }, body: { metadata: { c: 'd' } } }).then(timeless),
  deleted: async ({ vault }) => {
    await vault.client.deleteToken({ params: { id: 'large' } });
    return errorOf(vault.client.getToken({ params: { id: 'large' } }));
  },
  'an error': async ({ vault, VaultError }) => {
    const error = await vault.client.getToken({ params: { id: 'none' } }).catch((thrown) => thrown);
    return [error instanceof VaultError, error.code, error.status, error.detail];
  },
  'a taken id': ({ vault }) => errorOf(vault.client.createToken(token('pin', { id: 'first' }))),
  'an invalid body': async ({ vault }) => {
    const error = await vault.client.createToken({ body: { type: 'card', data: { number: '1' } } }).catch((e) => e);
    return [error.code, error.errors];
  },
  tokenize: ({ vault }) =>
    vault.client.tokenize({ body: { a: [{ type: 'token', data: 'x', id: 'made' }] } }).then(timeless),
  detokenize: ({ vault }) => vault.client.detokenize({ body: { pin: '{{ first }}', text: '{{ pin }}' } }),
  list: async ({ vault }) => idsOf(await vault.client.listTokens({ query: { type: ['token'] } })),
  'list by cursor': async ({ vault }) => idsOf(await vault.client.listTokensByCursor({ query: { size: 2 } })),
  search: async ({ vault }) => idsOf(await vault.client.searchTokens({ body: { query: 'metadata.c:d' } })),
  preview: ({ vault }) => vault.client.previewToken({ body: { type: 'card', data: CARD } }).then(({ data }) => data),
  'many at once': async ({ vault }) => {
    const all = Array.from({ length: 20 }, (_, index) =>
      vault.client.createToken(token(index, { id: `many-${index}` })),
    );
    return (await Promise.all(all)).map(({ id }) => id);
  },
  'created once': async ({ vault }) => {
    const create = () => vault.client.createToken({ ...token('once'), idempotencyKey: 'once' });
    const { id } = await create();
    return (await create()).id === id;
  },
  tenant: ({ vault }) => vault.management.getTenant().then(timeless),
  'change the tenant': ({ vault }) => vault.management.updateTenant({ body: { name: 'other' } }).then(timeless),
  application: async ({ vault, kept }) => {
    const { id, key, name, type } = await vault.management.createApplication({ body: APPLICATION });
    kept.application = { id, key };
    return [name, type];
  },
  'a mask': ({ kept, clientOf }) =>
    clientOf({ apiKey: kept.application.key })
      .getToken({ params: { id: 'card' } })
      .then(timeless),
  explain: async ({ vault, kept }) => {
    const body = { application_id: kept.application.id, token_id: 'card' };
    return Object.keys(await vault.management.explainAccess({ body }));
  },
  'a new key': async ({ vault, kept, clientOf }) => {
    await vault.management.regenerateApplicationKey({ params: { id: kept.application.id } });
    return errorOf(clientOf({ apiKey: kept.application.key }).listTokens());
  },
  applications: async ({ vault }) => (await vault.management.listApplications()).data.map(({ name }) => name).sort(),
  permissions: async ({ vault }) => Object.keys(await vault.client.listPermissions()),
  logs: async ({ vault }) => {
    const { data } = await vault.management.listLogs({ query: { operation: 'deleteToken' } });
    return data.map(({ entity_id, message }) => [entity_id, message]);
  },
  usage: async ({ vault }) => Object.keys(await vault.management.getUsageReport()),
  denied: ({ vault }) => errorOf(vault.management.listTokens()),
  clock: async ({ vault }) => isNow(await vault.clock.now()),
  'an expired token': async ({ vault }) => {
    const expires_at = new Date((await vault.clock.now()).getTime() + 24 * HOUR).toISOString();
    await vault.client.createToken(token('brief', { id: 'brief', expires_at }));
    await vault.clock.advance(25 * HOUR);
    return errorOf(vault.client.getToken({ params: { id: 'brief' } }));
  },
  'advance by 25h': async ({ vault }) => isNow(await vault.clock.advance('25h'), 50 * HOUR),
  'set the clock': ({ vault }) => vault.clock.set('2040-01-31T00:00:00Z').then((time) => time.getUTCFullYear()),
  'reset the clock': async ({ vault }) => isNow(await vault.clock.reset()),
  'a fault': async ({ vault }) => {
    await vault.faults.set({ request: 'POST /tokens', status: 429, times: 1, retry_after: 0 });
    const error = await vault.client.createToken(token('x')).catch((thrown) => thrown);
    return [error.code, error.retryAfter, (await vault.client.createToken(token('x'))).type];
  },
  'a delay': async ({ vault }) => {
    await vault.faults.set({ request: 'GET /tokens/{id}', delay_ms: 30 });
    return [(await vault.client.getToken({ params: { id: 'pin' } })).data, await vault.faults.list()];
  },
  'an aborted call': ({ vault }) =>
    errorOf(vault.client.getToken({ params: { id: 'pin' }, signal: AbortSignal.abort() })).then(({ name }) => name),
  'an abort': async ({ vault }) => {
    await vault.faults.set({ request: 'GET /tokens/{id}', delay_ms: 500 });
    const controller = new AbortController();
    const answer = errorOf(vault.client.getToken({ params: { id: 'pin' }, signal: controller.signal }));
    controller.abort();
    return (await answer).name;
  },
  'a timeout': async ({ vault, clientOf }) => {
    await vault.faults.set({ request: 'GET /tokens/{id}', delay_ms: 500 });
    const answer = await errorOf(clientOf({ timeout: 40 }).getToken({ params: { id: 'pin' } }));
    await vault.faults.clear();
    return [answer.name, await vault.faults.list()];
  },
  'an id that a URL swallows': ({ clientOf }) => errorOf(clientOf({}).getToken({ params: { id: '..' } })),
  reset: async ({ vault }) => {
    await vault.clock.advance('25h');
    await vault.reset();
    return [idsOf(await vault.client.listTokens()).sort(), isNow(await vault.clock.now())];
  },
  stop: async ({ vault }) => {
    await vault.stop();
    return (await errorOf(vault.client.getTenant())).name;
  },
};

/** Calls of `token-vault`, on files. `file` returns the path of a name. */
const ON_FILES = {
  'create a file': async ({ openVault, file, kept }) => {
    const opened = await openVault({ file: file('v.db'), createIfMissing: true });
    kept.apiKey = opened.created.management_key;
    const names = (await opened.client({ apiKey: kept.apiKey }).listApplications()).data.map(({ name }) => name);
    await opened.close();
    return [names, existsSync(file('v.db.key'))];
  },
  'open with an anchor': async ({ openVault, file }) => {
    for (let n = 0; n < 2; n += 1) await (await openVault({ file: file('v.db'), anchor: file('anchor') })).close();
    return existsSync(file('anchor'));
  },
  'open with the bytes of a key': async ({ openVault, file }) => {
    for (let n = 0; n < 2; n += 1) {
      await (await openVault({ file: file('k.db'), key: KEY, createIfMissing: true })).close();
    }
    return errorOf(openVault({ file: file('k.db'), key: KEY.map((byte) => byte + 1) }));
  },
  'open twice': async ({ openVault, file, kept }) => {
    const all = await Promise.all([1, 2].map(() => openVault({ file: file('v.db') })));
    const tenants = await Promise.all(all.map((opened) => opened.client({ apiKey: kept.apiKey }).getTenant()));
    await Promise.all(all.map((opened) => opened.close()));
    return tenants.map(({ name }) => name);
  },
  'a busy file': async ({ openVault, file, kept }) => {
    const opened = await openVault({ file: file('v.db') });
    const holder = spawn(process.execPath, ['-e', HOLD, file('v.db')], { stdio: ['ignore', 'pipe', 'ignore'] });
    await new Promise((resolve) => holder.stdout.once('data', resolve));
    const made = await errorOf(opened.client({ apiKey: kept.apiKey }).createApplication({ body: APPLICATION }));
    await opened.close();
    return made.value?.name ?? made;
  },
  'a damaged file': async ({ openVault, file }) => {
    writeFileSync(file('d.db'), readFileSync(file('v.db')).fill(7, 100, 9000));
    copyFileSync(file('v.db.key'), file('d.db.key'));
    return errorOf(openVault({ file: file('d.db') }));
  },
  'no vault': ({ openVault, file }) => {
    writeFileSync(file('n.db'), 'x'.repeat(5000));
    return errorOf(openVault({ file: file('n.db'), key: KEY }));
  },
};

/** Leaves out what differs between two runs: times, and fingerprints, which depend on the keys of the vault. */
function timeless(value) {
  const changing = /_at$|^fingerprint$/;
  return JSON.parse(JSON.stringify(value, (name, member) => (changing.test(name) ? undefined : member)));
}

module.exports = { ON_A_VAULT, ON_FILES, SEED, ownFetch };
