import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { OperationId } from '../../src/contract/operations.ts';
import { type AuditEvent, encodeEvents } from '../../src/core/audit/audit-event.ts';
import type { AuditLevel } from '../../src/core/audit/audit-level.ts';
import { vaultLogEntriesOf } from '../../src/core/audit/log-entries.ts';
import type { AuditEntry } from '../../src/core/audit/ports.ts';
import { lastEvents, walkAudit } from '../../src/core/audit/walk-audit.ts';
import type { Store } from '../../src/core/ports.ts';
import { Problem } from '../../src/core/problem.ts';
import { fakeableTimers } from '../fakeable-timers.ts';
import { steppingClock } from '../fixed-world.ts';
import { openTestVault } from '../test-vault.ts';
import { openTestAudit } from './audit-fixture.ts';
import { callVault, newApplication } from './vault-admin-fixture.ts';

type CallVaultParts = Parameters<typeof callVault> extends [unknown, ...infer Rest] ? Rest : never;

fakeableTimers();

const ALL = ['token:create', 'token:read', 'token:search', 'token:update', 'token:delete', 'token:use'];
const rule = (transform: string) => ({ description: '', priority: 1, container: '/', transform, permissions: ALL });

/** Opens a vault whose entries are written before the replies, unless `auditStrict` is false. */
async function openAudited(auditLevel: AuditLevel, auditStrict = true) {
  const settings = { auditLevel, auditStrict };
  const { vault, store, keyring, clock, management, tenantId } = await openTestVault('audit', { settings });
  const call = (...parts: CallVaultParts) => callVault(vault, ...parts);
  const application = (body: object) => newApplication(vault, management, body);
  const revealing = await application({ name: 'reveal', type: 'private', rules: [rule('reveal')] });
  const masking = await application({ name: 'mask', type: 'private', rules: [rule('mask')] });
  const { body: token } = await call(revealing.key, 'createToken', {
    body: { type: 'token', id: 'first', data: 'SECRET', mask: '{{ data | last4 }}', metadata: { m: 'SECRET' } },
  });

  /** Returns the events that `work` adds to the audit. */
  async function events(work: () => Promise<unknown>): Promise<readonly AuditEvent[]> {
    const head = await store.auditHead();
    await work();
    const found: AuditEvent[] = [];
    for await (const { event } of walkAudit({ store, keyring }, head)) found.push(event);
    return found;
  }
  const made = { management, revealing, masking, token, application };
  return { ...made, vault, store, keyring, clock, call, events, tenant_id: tenantId };
}

describe('a batch', () => {
  const request = (id: string) => ({ type: 'token', id, data: id, deduplicate_token: true });

  it('writes one row for the created tokens and one for the duplicates that it returns', async () => {
    const { store, revealing, call, events } = await openAudited('all');
    const { sequence } = await store.auditHead();
    const made = await events(() => call(revealing.key, 'tokenize', { body: [request('one'), request('two')] }));
    expect(made).toMatchObject([{ action: 'tokenize', status: 201, revision: 1, entities: ['one', 'two'] }]);
    expect((await store.auditHead()).sequence).toBe(sequence + 1);
    const body = [{ ...request('three'), data: 'one' }, request('four')];
    const mixed = await events(() => call(revealing.key, 'tokenize', { body }));
    expect(mixed).toMatchObject([
      { action: 'tokenize', revision: 1, entities: ['four'] },
      { action: 'tokenize', entities: ['one'] },
    ]);
    expect(mixed[1]).not.toHaveProperty('revision');
  });

  it('of reads lists every token; a rejected one lists none', async () => {
    const { revealing, masking, call, events } = await openAudited('all');
    await call(revealing.key, 'tokenize', { body: [request('one'), request('two')] });
    const read = (key: string, ids: readonly string[]) =>
      events(() => call(key, 'detokenize', { body: ids.map((id) => `{{ ${id} }}`) }));
    expect(await read(revealing.key, ['one', 'two', 'one'])).toMatchObject([
      { action: 'detokenize', status: 200, entities: ['one', 'two'] },
    ]);
    // Neither token has a mask.
    const [hidden, missing] = [await read(masking.key, ['first', 'one']), await read(masking.key, ['first', 'none'])];
    expect(hidden).toMatchObject([{ action: 'detokenize', status: 400, entities: [] }]);
    expect(hidden).toEqual(missing);
  });
});

it('an event states the revisions of the records that it removes, and of no others', () => {
  const event = { action: 'deleteToken', status: 204, entities: ['a b', '7 +'], ended: [3, 40] } as const;
  for (const wrong of [
    { ...event, ended: [3] },
    { ...event, ended: undefined },
    { ...event, status: 404 },
  ]) {
    expect(() => encodeEvents([{ event: wrong, at: 0 }])).toThrow('exactly the removals');
  }
});

describe('the audit', () => {
  it('has the caller, record and new revision of every change at any level', async () => {
    const { revealing, management, call, events, tenant_id } = await openAudited('mutations');
    const key = { api_key_id: expect.stringMatching(/^[0-9a-f-]{36}$/), tenant_id };
    const who = { application_id: revealing.id, actor_name: 'reveal', ...key };
    const changes = await events(async () => {
      await call(revealing.key, 'createToken', { body: { type: 'token', id: 'xyz', data: 1 } });
      await call(revealing.key, 'updateToken', { params: { id: 'xyz' }, body: { data: 2 } });
      await call(revealing.key, 'deleteToken', { params: { id: 'xyz' }, peer: '192.0.2.7' });
      await call(management, 'updateApplication', {
        params: { id: revealing.id },
        body: { name: 'renamed', rules: [rule('mask')] },
      });
      await call(management, 'regenerateApplicationKey', { params: { id: revealing.id } });
      await call(management, 'deleteApplication', { params: { id: revealing.id } });
      await call(management, 'updateTenant', { body: { name: 'renamed' } });
    });
    const by = { application_id: expect.any(String), actor_name: 'management', ...key };
    const named = { entities: [revealing.id], names: ['renamed'] };
    const ofKey = { entities: [expect.any(String)], names: ['renamed'] };
    const ended = { entities: [expect.any(String)], ended: [1] };
    expect(changes).toEqual([
      { action: 'createToken', status: 201, revision: 1, ...who, entities: ['xyz'] },
      { action: 'updateToken', status: 200, revision: 2, ...who, entities: ['xyz'], revealed: true },
      { action: 'deleteToken', status: 204, ...who, peer: '192.0.2.7', entities: ['xyz'], ended: [2] },
      { action: 'updateApplication', status: 200, revision: 2, ...by, ...named },
      { action: 'endApplicationKeys', status: 200, ...by, ...ended },
      { action: 'regenerateApplicationKey', status: 200, revision: 3, ...by, ...named },
      { action: 'addApplicationKey', status: 200, revision: 1, ...by, ...ofKey },
      { action: 'deleteApplication', status: 204, ...by, ...named, ended: [3] },
      { action: 'endApplicationKeys', status: 204, ...by, ...ended },
      { action: 'updateTenant', status: 200, revision: 2, ...by, entities: [] },
    ]);
  });

  it('of a read has the names of the applications that the reply shows', async () => {
    const { management, revealing, masking, call, events } = await openAudited('all');
    const params = { id: revealing.id };
    const reads = await events(async () => {
      await call(management, 'getApplication', { params });
      await call(management, 'listApplications', { query: [['id', masking.id]] });
      await call(management, 'listApplicationKeys', { params });
    });
    expect(reads).toMatchObject([
      { action: 'getApplication', entities: [revealing.id], names: ['reveal'] },
      { action: 'listApplications', entities: [masking.id], names: ['mask'] },
      { action: 'listApplicationKeys', entities: [expect.any(String)], names: ['reveal'] },
    ]);
    const witness = { sequence: 0, link: new Uint8Array(16), authority: 0 };
    const { link } = witness;
    const typeOf = (event: AuditEvent) =>
      vaultLogEntriesOf({ event, at: 0, sequence: 1, n: 1, link, isLast: true, witness, digest: undefined })[0]
        ?.entity_type;
    expect(reads.map(typeOf)).toEqual(['application', 'application', 'application_key']);
  });

  const SEARCH = { query: 'id:first' };
  const DUPLICATE = { type: 'token', data: 'SECRET', deduplicate_token: true };
  const DRAFT = { type: 'private', permissions: ['token:read'] };
  /** Each read, and the levels at which it leaves an entry. */
  const READS: readonly (readonly [
    what: string,
    reader: 'revealing' | 'masking' | 'management',
    OperationId,
    AuditLevel[],
    parts?: CallVaultParts[2],
  ])[] = [
    ['a token revealed', 'revealing', 'getToken', ['reveal', 'all']],
    ['a token masked', 'masking', 'getToken', ['all']],
    ['a token denied', 'management', 'getToken', ['reveal', 'all']],
    ['a list revealed', 'revealing', 'listTokens', ['reveal', 'all']],
    ['a list masked', 'masking', 'listTokens', ['all']],
    ['a token revealed, asked for masked', 'revealing', 'getToken', ['all'], { query: [['transform', 'mask']] }],
    ['a list revealed, asked for masked', 'revealing', 'listTokens', ['all'], { query: [['transform', 'mask']] }],
    ['a walk revealed', 'revealing', 'listTokensByCursor', ['reveal', 'all']],
    ['a search revealed', 'revealing', 'searchTokens', ['reveal', 'all'], { body: SEARCH }],
    ['a search masked', 'masking', 'searchTokens', ['all'], { body: SEARCH }],
    ['a template revealed', 'revealing', 'detokenize', ['reveal', 'all'], { body: ['{{ first }}'] }],
    ['a template masked', 'masking', 'detokenize', ['all'], { body: ['{{ first }}'] }],
    ['a missing token', 'revealing', 'getToken', ['all'], { params: { id: 'nowhere' } }],
    ['a duplicate', 'revealing', 'createToken', ['all'], { body: DUPLICATE }],
    ['a search asked for redacted', 'revealing', 'searchTokens', ['all'], { body: { ...SEARCH, transform: 'redact' } }],
    ['a search by cursor revealed', 'revealing', 'searchTokensByCursor', ['reveal', 'all'], { body: SEARCH }],
    ['the tenant denied', 'masking', 'getTenant', ['reveal', 'all']],
    ['the tenant', 'management', 'getTenant', ['all']],
    ['the applications', 'management', 'listApplications', ['all']],
    ['a preview', 'revealing', 'previewToken', ['all'], { body: { type: 'token', data: 'SECRET' } }],
    ['an explanation', 'management', 'explainAccess', ['all'], { body: { application: DRAFT, token_id: 'first' } }],
    ['a reach', 'management', 'measureReach', ['all'], { body: { application: DRAFT } }],
    ['the log', 'management', 'listLogs', []],
    ['the log denied', 'masking', 'listLogs', ['reveal', 'all']],
  ];
  it.each(['mutations', 'reveal', 'all'] as const)(
    'at the level %s records exactly the reads of that level',
    async (level) => {
      const opened = await openAudited(level);
      for (const [what, reader, operation, levels, parts] of READS) {
        const apiKey = reader === 'management' ? opened.management : opened[reader].key;
        const params: Record<string, string> = operation === 'getToken' ? { id: 'first' } : {};
        const found = await opened.events(() => opened.call(apiKey, operation, { params, ...parts }));
        expect(
          found.map(({ action }) => action),
          what,
        ).toEqual(levels.includes(level) ? [operation] : []);
        const isToken = /^(?:get|list|search|create)Tokens?|^detokenize/.test(operation);
        const id = parts?.params?.['id'] ?? 'first';
        if (found.length > 0 && isToken) expect(found[0]?.entities, what).toEqual([id]);
        expect(
          found.map(({ revealed }) => revealed ?? false),
          what,
        ).toEqual(found.map(() => what.endsWith('revealed')));
      }
    },
  );

  it('has denied and accepted attempts to learn unreadable data, and those beyond the limit', async () => {
    const { management, masking, call, events } = await openAudited('reveal');
    const body = { name: 'form', type: 'public', permissions: ['token:update'] };
    const form: { readonly key: string } = (await call(management, 'createApplication', { body })).body;
    const set = (key: string) => call(key, 'updateToken', { params: { id: 'first' }, body: { mask: '{{ data }}' } });
    const refused = await events(() => set(masking.key));
    expect(refused.map(({ status, entities }) => [status, ...entities])).toEqual([[403, 'first']]);
    const found = await events(async () => {
      for (let times = 0; times <= 100; times++) await set(form.key);
    });
    expect(found.map(({ status }) => status)).toEqual([...Array.from({ length: 100 }, () => 200), 429]);
    expect(found.at(-1)?.entities).toEqual(['first']);
  });

  it('omits an id that cannot be one, which is text of the caller', async () => {
    const { management, call, events } = await openAudited('all');
    const found = await events(async () => {
      for (const id of ['mine\nceo-salary\n~AAAAAAAAAAAAAAAAAAAAAA', 'x'.repeat(401), 'x'.repeat(400)]) {
        await call(management, 'getToken', { params: { id } });
      }
    });
    expect(found.map(({ status, entities }) => [status, ...entities])).toEqual([[403], [403], [403, 'x'.repeat(400)]]);
  });

  it('has no entry about an unknown API key, so guessing cannot fill it', async () => {
    const { call, events } = await openAudited('all');
    expect(await events(() => call('key_nobody', 'getTenant'))).toEqual([]);
  });

  it('has no value and no metadata', async () => {
    const { store, keyring, revealing, call } = await openAudited('all');
    await call(revealing.key, 'listTokens', { query: [['metadata.m', 'SECRET']] });
    const texts: string[] = [];
    for await (const { event } of walkAudit({ store, keyring })) texts.push(JSON.stringify(event));
    expect(texts.length).toBeGreaterThan(4);
    expect(texts.join()).not.toMatch(/SECRET|test/);
    // Control: the id is in the text.
    expect(texts.join()).toContain('first');
  });

  it('fails a request whose entry cannot be written, and recovers without loss', async () => {
    const { store, keyring, revealing, masking, call } = await openAudited('reveal');
    const append = store.appendAudit.bind(store);
    store.appendAudit = () => Promise.reject(new Problem('no_space'));
    const get = (key: string) => call(key, 'getToken', { params: { id: 'first' } });
    const refused = await get(revealing.key);
    expect(refused.status).toBe(507);
    expect(JSON.stringify(refused.body)).not.toContain('SECRET');
    // This read needs no entry, so it needs no space.
    expect((await get(masking.key)).status).toBe(200);
    store.appendAudit = append;
    expect((await get(revealing.key)).status).toBe(200);
    const last = await lastEvents({ store, keyring }, ({ event }) => event.action === 'getToken', 10);
    // The failed request revealed nothing, so it has no entry.
    expect(last).toHaveLength(1);
  });

  it('fails requests without --audit-strict, too, once a write has failed', async () => {
    const { vault, store, keyring, revealing, call } = await openAudited('reveal', false);
    const append = store.appendAudit.bind(store);
    store.appendAudit = () => Promise.reject(new Problem('no_space'));
    const get = () => call(revealing.key, 'getToken', { params: { id: 'first' } });
    expect((await get()).status).toBe(200);
    await new Promise((resolve) => setTimeout(resolve, 120));
    expect((await get()).status).toBe(507);
    expect((await get()).status).toBe(507);
    store.appendAudit = append;
    expect((await get()).status).toBe(200);
    const kept = await lastEvents({ store, keyring }, ({ event }) => event.action === 'getToken', 10);
    // The first reply was sent before the write failed; the other entry is from the last request.
    expect(kept).toHaveLength(2);
    await vault.close();
  });

  it('answers a strict read only after its entry is written', async () => {
    const { store, revealing, call } = await openAudited('reveal');
    const append = store.appendAudit.bind(store);
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    store.appendAudit = (drafts) => held.then(() => append(drafts));
    let answered = false;
    const reading = call(revealing.key, 'getToken', { params: { id: 'first' } }).then(() => {
      answered = true;
    });
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(answered).toBe(false);
    release();
    await reading;
  });

  /** Returns an audit whose writes wait for `held`, with the number of rows of each write. */
  async function heldAudit() {
    const held = Promise.withResolvers<void>();
    const writes: number[] = [];
    const writesTo = (file: Store) => ({
      async appendAudit(drafts: Parameters<Store['appendAudit']>[0]) {
        writes.push(drafts.length);
        await held.promise;
        await file.appendAudit(drafts);
      },
    });
    const { audit } = await openTestAudit({ writesTo, level: 'reveal', strict: false });
    const event: AuditEvent = { action: 'getToken', status: 200, entities: ['first'], revealed: true };
    return { audit, held, writes, record: (count: number) => Array.from({ length: count }, () => audit.record(event)) };
  }

  it('lets the calls beyond its limit wait for one write, not for that of later calls', async () => {
    const { audit, held, writes, record } = await heldAudit();
    const recorded = record(1030);
    expect(recorded.filter((one) => one !== undefined)).toHaveLength(7);
    await vi.waitFor(() => expect(writes).toHaveLength(1));
    expect(record(1)).toEqual([undefined]);
    held.resolve();
    await Promise.all(recorded);
    expect(writes).toEqual([2]);
    await audit.flush();
    expect(writes).toEqual([2, 1]);
  });

  it('begins to write at half of its limit, so that no call waits while the store keeps up', async () => {
    const { held, writes, record } = await heldAudit();
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    held.resolve();
    for (let turn = 0; turn < 8; turn += 1) {
      expect(record(500).every((one) => one === undefined)).toBe(true);
      await vi.advanceTimersByTimeAsync(1);
    }
    expect(writes).toEqual([1, 1, 1, 1]);
  });

  it.each<[what: string, change: (row: AuditEntry) => readonly AuditEntry[], reason: string]>([
    ['ignores the time of an altered row', (row) => [{ ...row, at: 0 }], 'cannot be decrypted'],
    ['reports a missing row', () => [], 'is missing'],
  ])('a search of the log %s', async (_, change, reason) => {
    const { store, keyring, revealing, call } = await openAudited('mutations');
    const { sequence } = await store.auditHead();
    await call(revealing.key, 'updateToken', { params: { id: 'first' }, body: { data: 1 } });
    const altered = {
      auditHead: () => store.auditHead(),
      readAudit: async (after: number, limit: number) =>
        (await store.readAudit(after, limit)).flatMap((row) => (row.sequence === sequence ? change(row) : row)),
    };
    const search = (from: Pick<typeof store, 'auditHead' | 'readAudit'>) =>
      lastEvents({ store: from, keyring }, () => true, 10, { since: 1 });
    expect(await search(store)).not.toHaveLength(0);
    await expect(search(altered)).rejects.toThrow(reason);
  });
});

describe('denials of one application', () => {
  const denial = (application_id: string, status = 403): AuditEvent => ({
    action: 'getToken',
    status,
    application_id,
    entities: ['first'],
  });

  async function openDenied(strict: boolean) {
    const clock = steppingClock();
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const file: { append?: Store['appendAudit'] | undefined } = {};
    const writesTo = ({ appendAudit }: Store): Partial<Store> => ({
      appendAudit: (drafts) => (file.append ?? appendAudit)(drafts),
    });
    const { keyring, store, audit } = await openTestAudit({ clock, level: 'reveal', strict, writesTo });
    /** Returns the application and status of each entry. A counted entry also has its count. */
    const written = async () => {
      const found: string[] = [];
      for await (const { event } of walkAudit({ store, keyring })) {
        const { application_id, status, counted } = event;
        found.push([application_id, status, ...(counted ? [`× ${counted.count}`] : [])].join(' '));
      }
      return found;
    };
    const deny = async (count: number, event: AuditEvent) => {
      for (let n = 0; n < count; n += 1) await audit.record(event);
    };
    return { audit, file, store, keyring, clock, written, deny };
  }
  const singles = (count: number, text: string) => Array.from({ length: count }, () => text);

  it.each([false, true])('beyond 100 in a minute are counted by operation and status (strict: %s)', async (strict) => {
    const { audit, written, deny } = await openDenied(strict);
    await deny(90, denial('a'));
    await deny(20, denial('a', 404));
    await deny(5_000, denial('a'));
    await deny(2, denial('b'));
    await audit.flush();
    expect(await written()).toEqual([
      ...singles(90, 'a 403'),
      ...singles(10, 'a 404'),
      ...singles(2, 'b 403'),
      'a 404 × 10',
      'a 403 × 5000',
    ]);
  });

  it('are written at the end of the minute with their first and last time, then counted from zero', async () => {
    const { clock, store, keyring, written, deny } = await openDenied(false);
    await deny(100, denial('a'));
    const first_at = clock.now();
    await deny(1, denial('a'));
    clock.advance(30_000);
    const last_at = clock.now();
    await deny(6, denial('a'));
    await vi.advanceTimersByTimeAsync(59_000);
    expect(await written()).toEqual(singles(100, 'a 403'));
    await vi.advanceTimersByTimeAsync(1_000);
    const [last] = await lastEvents({ store, keyring }, () => true, 1);
    const counted = { count: 7, first_at, last_at };
    expect(last?.event).toEqual({ action: 'getToken', status: 403, application_id: 'a', entities: [], counted });
    await deny(100, denial('a'));
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await written()).toEqual([...singles(100, 'a 403'), 'a 403 × 7', ...singles(100, 'a 403')]);
  });

  it('are refused while entries cannot be written, and the counts survive', async () => {
    const { audit, file, written, deny } = await openDenied(true);
    await deny(150, denial('a'));
    file.append = () => Promise.reject(new Problem('no_space'));
    await vi.advanceTimersByTimeAsync(60_000);
    await expect(audit.record(denial('a'))).rejects.toMatchObject({ code: 'no_space' });
    file.append = undefined;
    await deny(1, denial('a'));
    expect(await written()).toEqual([...singles(100, 'a 403'), 'a 403 × 50', 'a 403']);
  });

  it('are the only events that are counted', async () => {
    const { audit, written, deny } = await openDenied(false);
    await deny(300, { ...denial('a'), status: 200 });
    await audit.flush();
    expect(await written()).toEqual(singles(300, 'a 200'));
  });
});
