import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TokenIndexes, TokenRecord } from '../../src/core/ports.ts';
import { LOCKS } from '../../src/store/postgres/lane-members.ts';
import { inSchema, schemaStatements } from '../../src/store/postgres/schema.ts';
import { TOKEN_CHANGES } from '../../src/store/postgres/token-statements.ts';
import { blindText } from '../../src/store/postgres/uuid-text.ts';
import {
  blind,
  ENTRY,
  EXPIRY_RECORDER,
  indexes,
  MONTH,
  NOW,
  nextId,
  tokenRecord,
  tombstoneOf,
} from '../conformance/store-fixtures.ts';
import { createDatabase } from './create-database.ts';
import { changeOf, memberOf, openRaceTrack, type RaceTrack, type Work, workOf } from './race.ts';

// The changes of two processes, without the lock of the audit's chain. The lock would order them, so each statement
// must guard itself. A race runs in both orders. It also runs without its guard, to prove that the test finds the
// fault.

const ROUNDS = 60;
/** A race without its guard fails in each round. */
const ROUNDS_WITHOUT_GUARD = 6;

let track: RaceTrack;
beforeAll(async () => {
  track = await openRaceTrack(await createDatabase());
  for (const text of ['BEGIN', ...schemaStatements('vault'), 'COMMIT']) await track.run({ text });
});
afterAll(() => track.close());

function ask(text: string, ...values: readonly (string | number | readonly string[])[]) {
  return track.run({ text: inSchema(text, 'vault') }, values);
}

/** Adds a tenant with the keys of `tokenRecord`. */
async function addTenant(): Promise<string> {
  const id = nextId();
  await ask(
    `INSERT INTO vault.tenant (id, owner_id, created_at, revision, key_id, data_key_id, index_key_id, details)
     VALUES ($1, $1, 0, 1, 1, 1, 2, '')`,
    id,
  );
  return id;
}

async function create(token: TokenRecord, given = indexes(token.id), deduplicate = false) {
  return memberOf((writes) => writes.insertToken(token, given, { deduplicate, now: NOW }, ENTRY));
}

/** Returns `token.blinds` of a token without containers. */
const blindsOf = ({ fingerprint, others }: TokenIndexes) => [fingerprint, ...others].map(blindText);

const patch = (token: TokenRecord, given: TokenIndexes) =>
  memberOf((writes) => writes.replaceToken(token, given, { revision: 1, now: NOW }, ENTRY));
const remove = (token: TokenRecord) => memberOf((writes) => writes.deleteToken(tombstoneOf(token), 1, ENTRY));
const mark = (token: TokenRecord) => memberOf((writes) => writes.markActive(token.tenant_id, [token.id], MONTH + 1));

/** Stores a token before a race. */
async function add(token: TokenRecord, given?: TokenIndexes): Promise<TokenRecord> {
  await workOf(await create(token, given))(track.run);
  return token;
}

/** Returns the differences between a tenant's tokens and what is derived from them. */
async function differences(tenantId: string): Promise<readonly unknown[]> {
  return ask(
    `WITH n AS (SELECT tenant FROM vault.tenant WHERE id = $1),
     t AS (SELECT * FROM vault.token WHERE tenant = (SELECT tenant FROM n) AND deleted_at IS NULL),
     i AS (SELECT blind, set_number, created_at, token FROM vault.token_index WHERE tenant = (SELECT tenant FROM n)),
     b AS (SELECT b, set_number, created_at, token FROM t, unnest(blinds) b)
     SELECT 'index', count(*) FROM ((TABLE i EXCEPT TABLE b) UNION ALL (TABLE b EXCEPT TABLE i)) d HAVING count(*) > 0
     UNION ALL SELECT 'count', coalesce(c.live, 0) FROM (SELECT type, key_id, index_key_id, sum(live) AS live
         FROM vault.token_count WHERE tenant = (SELECT tenant FROM n) GROUP BY 1, 2, 3) c
       FULL JOIN (SELECT type, key_id, index_key_id, count(*) AS live FROM t GROUP BY 1, 2, 3) r
       USING (type, key_id, index_key_id) WHERE coalesce(c.live, 0) <> coalesce(r.live, 0)`,
    tenantId,
  );
}

async function countTokens(tenantId: string): Promise<unknown> {
  const [row] = await ask(
    'SELECT count(*) FROM vault.token WHERE tenant = (SELECT tenant FROM vault.tenant WHERE id = $1) AND deleted_at IS NULL',
    tenantId,
  );
  return row?.[0];
}

/** The work of two processes, and whether the outcome has a fault. */
interface Race {
  readonly tenantId: string;
  readonly first: Work<unknown>;
  readonly second: Work<unknown>;
  isFault(first: unknown, second: unknown): Promise<boolean>;
}

/** A race with its guard, or without it. The order of the two changes alternates with `isTurned`. */
type Round = (isGuarded: boolean, isTurned: boolean) => Promise<Race>;

/** Runs the rounds. Resolves to the number of rounds with a fault. */
async function countFaults(round: Round, isGuarded: boolean): Promise<number> {
  let faults = 0;
  const rounds = isGuarded ? ROUNDS : ROUNDS_WITHOUT_GUARD;
  for (let at = 0; at < rounds; at += 1) {
    const { tenantId, first, second, isFault } = await round(isGuarded, at % 2 === 1);
    const outcome = await track.race(first, second);
    if ((await isFault(...outcome)) || (await differences(tenantId)).length > 0) faults += 1;
  }
  return faults;
}

const inOrder = <A, B>(isTurned: boolean, a: A, b: B): readonly [A | B, A | B] => (isTurned ? [b, a] : [a, b]);

/** Keeps a change from waiting for rows that another change holds. */
const unlocked =
  <T>(work: Work<T>): Work<T> =>
  (run) =>
    work(async (statement, values) => (statement === LOCKS.lockTokens ? [] : run(statement, values)));

const outcomesOf = (...results: readonly unknown[]) =>
  results.map((result) => (result as { readonly outcome: string }).outcome).sort();

const createTwice: Round = async () => {
  const tenantId = await addTenant();
  const one = tokenRecord(tenantId, { id: 'same' });
  return {
    tenantId,
    first: workOf(await create(one, indexes('a'))),
    second: workOf(await create(one, indexes('b'))),
    isFault: async (...results) => outcomesOf(...results).join() !== 'id_taken,inserted',
  };
};

const createAndDeduplicate: Round = async () => {
  const tenantId = await addTenant();
  const token = tokenRecord(tenantId, { id: 'same' });
  return {
    tenantId,
    first: workOf(await create(token, indexes('x'))),
    second: workOf(await create(token, indexes('x'), true)),
    isFault: async (...results) => outcomesOf(...results).join() !== 'duplicate,inserted',
  };
};

const createAndRemove: Round = async (_, isTurned) => {
  const tenantId = await addTenant();
  const token = await add(tokenRecord(tenantId));
  const works = [workOf(await remove(token)), workOf(await create(token, indexes('again')))] as const;
  const [first, second] = inOrder(isTurned, ...works);
  return {
    tenantId,
    first,
    second,
    async isFault(...results) {
      const [removed, created] = isTurned ? [...results].reverse() : results;
      return removed !== true || outcomesOf(created).join() !== 'id_taken' || (await countTokens(tenantId)) !== 0;
    },
  };
};

const deduplicateTwice: Round = async (isGuarded) => {
  const tenantId = await addTenant();
  const [a, b] = [
    await create(tokenRecord(tenantId), indexes('x'), true),
    await create(tokenRecord(tenantId), indexes('x'), true),
  ];
  return {
    tenantId,
    first: workOf(a),
    second: workOf(isGuarded ? b : { ...b, gates: [] }),
    isFault: async (...results) => outcomesOf(...results).join() !== 'duplicate,inserted',
  };
};

/** The first create begins before the index key is replaced, the second create after it. */
const deduplicateWithNewKey: Round = async (isGuarded) => {
  const tenantId = await addTenant();
  const old = await create(tokenRecord(tenantId), indexes('old'), true);
  const former = [blind('fingerprint old')];
  const given = { ...indexes('new'), former };
  const anew = await create(tokenRecord(tenantId, { index_key_id: 3 }), given, true);
  return {
    tenantId,
    async first(run) {
      const result = await workOf(old)(run);
      await ask('UPDATE vault.tenant SET index_key_id = 3 WHERE id = $1', tenantId);
      return result;
    },
    second: workOf(isGuarded ? anew : { ...anew, gates: anew.gates?.slice(0, 1) }),
    isFault: async (...results) => outcomesOf(...results).join() !== 'duplicate,inserted',
  };
};

async function twoPatches() {
  const tenantId = await addTenant();
  const token = await add(tokenRecord(tenantId));
  const next = { ...token, revision: 2 };
  const [a, b] = [indexes('a', 'x', 'kept'), indexes('b', 'y', 'kept')];
  return {
    tenantId,
    token,
    a: { given: a, member: await patch(next, a) },
    b: { given: b, member: await patch(next, b) },
  };
}

const patchTwice: Round = async (isGuarded, isTurned) => {
  const { tenantId, token, a, b } = await twoPatches();
  const [first, second] = inOrder(isTurned, a, b);
  return {
    tenantId,
    first: workOf(first.member),
    second: workOf(isGuarded ? second.member : { ...second.member, tokens: [] }),
    async isFault(...results) {
      const [row] = await ask(
        'SELECT revision FROM vault.token WHERE id = $1 AND blinds = $2::uuid[]',
        token.id,
        blindsOf(first.given),
      );
      return results.join() !== 'true,false' || row?.[0] !== 2;
    },
  };
};

/** Without the guard, the second patch adds its own blind indexes. */
const reindexTwice: Round = async (isGuarded) => {
  const { tenantId, a, b } = await twoPatches();
  const { member } = b;
  const blinds = blindsOf(b.given);
  const statements: typeof member.statements = (...place) => {
    const [replace, reindex] = member.statements(...place);
    if (replace === undefined || reindex === undefined) throw new Error('unreachable');
    const text = TOKEN_CHANGES.reindexTokens.text.replace('unnest(blinds)', 'unnest($3::uuid[])');
    return [replace, [text, [...reindex[1], blinds]]];
  };
  return {
    tenantId,
    first: workOf(a.member),
    second: workOf(isGuarded ? member : { ...member, statements }),
    isFault: async (...results) => results.join() !== 'true,false',
  };
};

const patchAndReseal: Round = async (isGuarded, isTurned) => {
  const tenantId = await addTenant();
  const token = await add(tokenRecord(tenantId));
  await ask('UPDATE vault.tenant SET data_key_id = 3, index_key_id = 4 WHERE id = $1', tenantId);
  const keys = { key_id: 3, index_key_id: 4 };
  const patched = workOf(await patch({ ...token, ...keys, revision: 2 }, indexes('patched', 'p')));
  const resealed = changeOf((changes) =>
    changes.resealTokens(tenantId, [
      { before: token, after: { ...token, ...keys }, indexes: indexes('resealed', 'r') },
    ]),
  );
  const [first, second] = inOrder<Work<unknown>, Work<unknown>>(isTurned, patched, resealed);
  return {
    tenantId,
    first,
    second: isGuarded ? second : unlocked(second),
    async isFault(...results) {
      const blinds = blindsOf(indexes('patched', 'p'));
      const [row] = await ask(
        'SELECT revision FROM vault.token WHERE id = $1 AND blinds = $2::uuid[]',
        token.id,
        blinds,
      );
      // A patch replaces a resealed token. A reseal leaves a patched token alone.
      return results.join() !== (isTurned ? '1,true' : 'true,0') || row?.[0] !== 2;
    },
  };
};

const removeTwice: Round = async (isGuarded) => {
  const tenantId = await addTenant();
  const token = await add(tokenRecord(tenantId, { expires_at: NOW }));
  const [a, b] = [await remove(token), await remove(token)];
  return {
    tenantId,
    first: workOf(a),
    second: workOf(isGuarded ? b : { ...b, tokens: [] }),
    isFault: async (...results) => results.join() !== 'true,false',
  };
};

const removeAndPatch: Round = async (_, isTurned) => {
  const tenantId = await addTenant();
  const token = await add(tokenRecord(tenantId));
  const members = [await remove(token), await patch({ ...token, revision: 2 }, indexes('p'))] as const;
  const [first, second] = inOrder(isTurned, ...members);
  return {
    tenantId,
    first: workOf(first),
    second: workOf(second),
    isFault: async (...results) => results.join() !== 'true,false',
  };
};

const expireAndPatch: Round = async () => {
  const tenantId = await addTenant();
  const token = await add(tokenRecord(tenantId, { expires_at: NOW + 1 }));
  const patched = workOf(await patch({ ...token, revision: 2, expires_at: undefined }, indexes('p')));
  return {
    tenantId,
    first: patched,
    second: changeOf((changes) => changes.removeExpired(NOW + 1, 100, EXPIRY_RECORDER)),
    isFault: async (...results) => results.join() !== 'true,0',
  };
};

const expireTwice: Round = async () => {
  const tenantId = await addTenant();
  await add(tokenRecord(tenantId, { expires_at: NOW }));
  const sweep = changeOf((changes) => changes.removeExpired(NOW, 100, EXPIRY_RECORDER));
  return { tenantId, first: sweep, second: sweep, isFault: async (...results) => results.join() !== '1,0' };
};

const markTwice: Round = async () => {
  const tenantId = await addTenant();
  const token = await add(tokenRecord(tenantId));
  const [a, b] = [await mark(token), await mark(token)];
  return {
    tenantId,
    first: workOf(a),
    second: workOf(b),
    async isFault() {
      const counted = await ask(
        `SELECT sum(active) FROM vault.token_count WHERE month = $2
         AND tenant = (SELECT tenant FROM vault.tenant WHERE id = $1)`,
        tenantId,
        MONTH + 1,
      );
      return Number(counted[0]?.[0]) !== 1;
    },
  };
};

interface Named {
  readonly name: string;
  readonly round: Round;
  /** The guard that `round` leaves out in the runs without it. */
  readonly guard?: string;
}

const RACES: readonly Named[] = [
  { name: 'two creates of one id', round: createTwice },
  { name: 'two creates of one token, one of which may find a duplicate', round: createAndDeduplicate },
  { name: 'a create and the removal of one id', round: createAndRemove },
  { name: 'two creates of one fingerprint', round: deduplicateTwice, guard: 'gates' },
  {
    name: 'two creates of one fingerprint while the index key is replaced',
    round: deduplicateWithNewKey,
    guard: 'gates of former ones',
  },
  { name: 'two patches', round: patchTwice, guard: 'the lock of the row' },
  { name: 'the entries of two patches', round: reindexTwice, guard: "the row's own blind indexes" },
  { name: 'a patch and sealing again', round: patchAndReseal, guard: 'the lock of the row' },
  { name: 'two removals', round: removeTwice, guard: 'the lock of the row' },
  { name: 'a removal and a patch', round: removeAndPatch },
  { name: 'a patch and an expiry', round: expireAndPatch },
  { name: 'two sweeps', round: expireTwice },
  { name: 'two marks of one month', round: markTwice },
];

describe('two processes', () => {
  it.each(RACES)('$name', async ({ round }) => {
    expect(await countFaults(round, true)).toBe(0);
  });

  const guarded = RACES.filter(({ guard }) => guard !== undefined);
  it.each(guarded)('$name: a fault without $guard', async ({ round }) => {
    expect(await countFaults(round, false)).toBe(ROUNDS_WITHOUT_GUARD);
  });
});
