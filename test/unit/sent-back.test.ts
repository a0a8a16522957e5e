import { beforeEach, describe, expect, it } from 'vitest';
import type { Answer } from '../test-vault.ts';
import { CARD, type Core, MASKED_CARD, openCore, PRIVATE, rule } from './core-fixture.ts';

const OTHER = '0190c2a5-6a2e-7b0e-8f5e-0c1f1b7d2a11';

let core: Core;
beforeEach(async () => {
  core = await openCore();
});

const bodyOf = (answer: Answer) => JSON.parse(answer.text);
const errorsOf = (answer: Answer) => [answer.status, answer.at('type'), answer.at('errors')];
const fixed = (member: string) => [400, 'urn:token-vault:problem:invalid_request', { [member]: ['cannot be changed'] }];
const stale = (member: string) => [
  409,
  'urn:token-vault:problem:write_conflict',
  { [member]: ['changed since it was read'] },
];

/** The resources with an update: how to read one, and how to change it. */
const RESOURCES = {
  token: async () => {
    const id = await core.token({ type: 'card', data: CARD, metadata: { a: 'b' }, expires_at: '2026-03-20' });
    return {
      read: () => core.own('getToken', { id }),
      update: (body: object) => core.own('updateToken', { id, body }),
    };
  },
  application: async () => {
    const body = { name: 'ruled', type: 'private', rules: [rule({})] };
    const id = String((await core.manage('createApplication', { body })).at('id'));
    return {
      read: () => core.manage('getApplication', { id }),
      update: (body: object) => core.manage('updateApplication', { id, body }),
    };
  },
  tenant: async () => ({
    read: () => core.manage('getTenant'),
    update: (body: object) => core.manage('updateTenant', { body }),
  }),
} as const;

const SHARED = ['id', 'created_by', 'created_at'] as const;
const FIXED = {
  token: [...SHARED, 'tenant_id', 'type', 'fingerprint'],
  application: [...SHARED, 'tenant_id', 'type', 'expires_at'],
  tenant: [...SHARED, 'owner_id'],
} as const;

describe.each(['token', 'application', 'tenant'] as const)('a %s', (kind) => {
  it('is accepted as it was read, twice', async () => {
    const { read, update } = await RESOURCES[kind]();
    for (let round = 0; round < 2; round += 1) {
      const before = bodyOf(await read());
      const answer = await update(before);
      expect(answer.status, answer.text).toBe(200);
      const { modified_at, modified_by, ...after } = bodyOf(await read());
      expect(before).toMatchObject(after);
      core.clock.advance(5);
    }
  });

  it.each(FIXED[kind])('keeps its %s', async (member) => {
    const { read, update } = await RESOURCES[kind]();
    const before = bodyOf(await read());
    for (const value of [OTHER, '2020-01-01T00:00:00.000+00:00', 7, {}, '']) {
      expect(errorsOf(await update({ ...before, [member]: value }))).toEqual(fixed(member));
    }
    expect((await read()).text).toBe(JSON.stringify(before));
  });

  it('is not changed by a caller that read an older one', async () => {
    const { read, update } = await RESOURCES[kind]();
    const unmodified = bodyOf(await read());
    expect((await update(unmodified)).status).toBe(200);
    const before = bodyOf(await read());
    const early = '2020-01-01T00:00:00.000+00:00';
    expect(errorsOf(await update({ ...before, modified_at: early }))).toEqual(stale('modified_at'));
    expect(errorsOf(await update({ ...before, modified_by: OTHER }))).toEqual(stale('modified_by'));
    expect(errorsOf(await update({ ...before, id: OTHER, modified_at: early }))).toEqual(fixed('id'));
    expect((await read()).text).toBe(JSON.stringify(before));
    expect((await update(before)).status).toBe(200);
  });

  it('reports the change, not the fingerprint, to a caller that read an older one', async () => {
    const { read, update } = await RESOURCES[kind]();
    expect((await update(bodyOf(await read()))).status).toBe(200);
    const before = bodyOf(await read());
    core.clock.advance(5);
    const { fingerprint, modified_at, ...same } = before;
    const change = kind === 'token' ? { data: { ...CARD, cvc: '999' } } : {};
    expect((await update({ ...same, ...change })).status).toBe(200);
    const answer = await update(before);
    expect([answer.status, Object.keys(answer.at('errors') as object)]).toEqual([
      409,
      kind === 'token' ? ['fingerprint', 'modified_at'] : ['modified_at'],
    ]);
  });

  it('is accepted with times and UUIDs in the form of another client', async () => {
    const { read, update } = await RESOURCES[kind]();
    const before = bodyOf(await read());
    const created_at = before.created_at.replace('.000+00:00', 'Z');
    expect(created_at).not.toBe(before.created_at);
    expect((await update({ ...before, created_at, created_by: before.created_by.toUpperCase() })).status).toBe(200);
    const local = before.created_at.replace('+00:00', '');
    expect(errorsOf(await update({ ...before, created_at: local }))).toEqual(fixed('created_at'));
  });
});

describe('an application', () => {
  it.each(['public', 'management', 'expiring'])('of type %s is updated with a flag that is false', async (type) => {
    const permission = { public: 'token:create', management: 'tenant:read', expiring: 'token:read' }[type];
    const body = { name: 'n', type, permissions: [permission] };
    const flag = (value: boolean) => ({ can_create_expiring_applications: value });
    expect((await core.manage('createApplication', { body: { ...body, ...flag(false) } })).status).toBe(400);
    const id = String((await core.manage('createApplication', { body })).at('id'));
    const read = bodyOf(await core.manage('getApplication', { id }));
    const update = (more: object) => core.manage('updateApplication', { id, body: { ...read, ...more } });
    expect((await update(flag(false))).at('can_create_expiring_applications')).toBeUndefined();
    expect((await core.manage('updateApplication', { id, body: { name: 'n', ...flag(true) } })).status).toBe(400);
  });
});

describe('the order of checks', () => {
  it('is 404, then 403, then the read-only members', async () => {
    const body = { id: 'other', created_at: 'x' };
    expect((await core.own('updateToken', { id: 'missing-id', body })).status).toBe(404);
    expect(
      (await core.manage('updateApplication', { id: OTHER, body: { ...body, name: 'n', rules: [rule({})] } })).status,
    ).toBe(404);
    const id = await core.token({ type: 'token', data: 'x', containers: ['/other/'] });
    const own = [rule({ container: '/own/', permissions: ['token:update'] })];
    const key = await core.application({ name: 'own', type: 'private', rules: own });
    expect((await core.call(key, 'updateToken', { id, body })).status).toBe(403);
  });
});

it('a call with an older record is not repeated with newer keys', async () => {
  let refreshed = 0;
  core = await openCore({
    keyringOf: (keyring) => ({
      ...keyring,
      refresh: async () => {
        refreshed += 1;
        await keyring.refresh();
      },
    }),
  });
  const before = refreshed;
  const answer = await core.manage('updateTenant', { body: { name: 'n', modified_by: OTHER } });
  expect([answer.status, refreshed - before]).toEqual([409, 0]);
});

describe('the masked form', () => {
  const masking = (more: object = {}) =>
    core.application({ name: 'm', type: 'private', permissions: PRIVATE, ...more });

  const token = { type: 'token', data: 'secret-1234', mask: '{{ data | reveal_last: 4 }}' };
  const card = { type: 'card', data: CARD };
  const part = { number: MASKED_CARD.number, cvc: null };
  const [later, laterMasked] = [CARD, MASKED_CARD].map((each) => ({ ...each, expiration_year: 2031 }));
  const { cvc: _cvc, ...without } = CARD;
  const list = { type: 'token', data: ['a1', 'b2'], mask: ['{{ data[0] | last4 }}', 'X'] };
  const size = { type: 'token', data: 'x', mask: { a: { b: '{{ data | size }}' } } };
  const deep = { type: 'token', data: { a: { s: 'secret', t: 1 } }, mask: { a: { s: 'X', t: '{{ data.a.t }}' } } };
  /** A token, the data that a masked reader sends back, and the data after that. */
  const CASES: readonly (readonly [string, object, unknown, unknown])[] = [
    ['of a text', token, 'XXXXXX-1234', 'secret-1234'],
    ['of a card', card, MASKED_CARD, CARD],
    ['of a card, changed', card, laterMasked, later],
    ['of a card, in part', card, part, without],
    ['that shows a text as an object', size, { a: { b: 1 } }, 'x'],
    ['that is a list', list, ['a1', 'X'], ['a1', 'b2']],
    ['of nothing', { type: 'token', data: 'x', mask: {} }, {}, 'x'],
    ['with no member', { type: 'token', data: { a: 1 }, mask: { a: 'X' } }, {}, { a: 1 }],
    ['that holds null', { type: 'token', data: { a: 1 }, mask: { a: 'X', b: null } }, { b: null, a: 'X' }, { a: 1 }],
    ['with one member changed deep inside', deep, { a: { s: 'X', t: 2 } }, { a: { s: 'secret', t: 2 } }],
    ['of other data', token, 'XXXXXX-1235', 'XXXXXX-1235'],
  ];

  it.each(CASES)('%s is unchanged data for a masked reader', async (_what, made, data, after) => {
    const id = await core.token(made);
    const key = await masking();
    expect((await core.call(key, 'updateToken', { id, body: { data } })).status).toBe(200);
    expect((await core.own('getToken', { id })).at('data')).toEqual(after);
  });

  const both = (transform: string) => ({ rules: [rule({ transform, permissions: ['token:read', 'token:update'] })] });

  it.each([
    ['reveals', () => masking({ permissions: [], ...both('reveal') })],
    ['is redacted', () => masking({ permissions: [], ...both('redact') })],
    ['may not read', () => masking({ permissions: ['token:update'] })],
    [
      'may not read, under a rule',
      () => masking({ permissions: [], rules: [rule({ transform: 'mask', permissions: ['token:update'] })] }),
    ],
  ])('replaces the data for a caller that %s it, or the status would confirm guesses', async (_what, caller) => {
    const id = await core.token(token);
    const answer = await core.call(await caller(), 'updateToken', { id, body: { data: 'XXXXXX-1234' } });
    expect(answer.status, answer.text).toBe(200);
    expect((await core.own('getToken', { id })).at('data')).toBe('XXXXXX-1234');
  });

  it('gives a caller that may not read the card the same error for each guess', async () => {
    const id = await core.token({ type: 'card', data: CARD });
    const key = await masking({ permissions: ['token:update'] });
    const answers = ['4242', '4243'].map((end) =>
      core.call(key, 'updateToken', { id, body: { data: { number: `XXXXXXXXXXXX${end}` } } }),
    );
    const [right, wrong] = await Promise.all(answers);
    expect([right?.status, right?.at('errors')]).toEqual([400, wrong?.at('errors')]);
  });
});

describe('the fingerprint', () => {
  it('is an unknown member for a caller that may not read the token, whatever its value', async () => {
    const id = await core.token({ type: 'token', data: 'x' });
    const right = (await core.own('getToken', { id })).at('fingerprint');
    const writer = await core.application({ name: 'w', type: 'private', permissions: ['token:update'] });
    for (const fingerprint of [right, 'wrong', null, 7]) {
      const answer = await core.call(writer, 'updateToken', { id, body: { fingerprint } });
      expect(answer.status).toBe(400);
      expect(answer.at('errors')).toEqual({ fingerprint: [expect.stringContaining('is not a known member')] });
    }
    const redacting = [rule({ transform: 'redact', permissions: ['token:read', 'token:update'] })];
    const reader = await core.application({ name: 'r', type: 'private', rules: redacting });
    expect((await core.call(reader, 'updateToken', { id, body: { fingerprint: right } })).status).toBe(200);
  });
});
