import { Client } from 'pg';
import { startPooler } from '../../postgres/pooler.ts';
import { type Check, CheckFailure, type CheckOptions } from '../check.ts';
import { builtText, withPatch } from '../patched-product.ts';
import type { Perform } from '../perform.ts';
import { type Fleet, startFleet } from './fleet.ts';

const HOUR_MS = 60 * 60 * 1000;
const YEAR_MS = 365 * 24 * HOUR_MS;

/** The part of the built product that names the schemas. The control looks in `public` first. */
const SEARCH_PATH = builtText('pg_catalog,pg_temp');
const UNSAFE_PATH = 'public,pg_catalog,pg_temp';
/** The beginning of the pattern by which the product recognizes its search_path, and that of the control. */
const RECOGNIZED = [builtText('^\\s*("?)pg_catalog'), '^\\s*public\\s*,\\s*("?)pg_catalog'] as const;

/** A call of a function that records its run by the role of the vault, and later deletes a row of the audit. */
const RUN = 'PERFORM public.act();';

/** Functions whose argument types fit better than those of PostgreSQL's own functions, which take any array. */
const LISTS = ['uuid', 'text', 'bigint', 'bytea', 'integer'].flatMap((type) => [
  `CREATE FUNCTION public.unnest(a ${type}[]) RETURNS SETOF ${type} LANGUAGE plpgsql AS
    'BEGIN ${RUN} RETURN QUERY SELECT pg_catalog.unnest(a); END'`,
  `CREATE FUNCTION public.cardinality(a ${type}[]) RETURNS integer LANGUAGE plpgsql AS
    'BEGIN ${RUN} RETURN pg_catalog.cardinality(a); END'`,
]);

/** The statements of a role that may only create objects in the schema `public`. */
const ATTACK: readonly string[] = [
  'CREATE TABLE public.taken (deleted bigint)',
  'GRANT SELECT, INSERT ON public.taken TO public',
  `CREATE FUNCTION public.act() RETURNS void LANGUAGE plpgsql AS 'DECLARE n bigint = 0; BEGIN
    IF current_user = ''mallory'' THEN RETURN; END IF;
    IF (SELECT count(*) FROM public.taken) = 15 THEN
      DELETE FROM vault.audit WHERE sequence = 1;
      GET DIAGNOSTICS n = ROW_COUNT;
    END IF;
    INSERT INTO public.taken VALUES (n);
    EXCEPTION WHEN OTHERS THEN NULL; END'`,
  `CREATE FUNCTION public.late(a numeric, b integer) RETURNS numeric LANGUAGE plpgsql AS
    'BEGIN ${RUN} RETURN a OPERATOR(pg_catalog.*) b::numeric OPERATOR(pg_catalog.+) ${YEAR_MS}; END'`,
  'CREATE OPERATOR public.* (FUNCTION = public.late, LEFTARG = numeric, RIGHTARG = integer)',
  `CREATE FUNCTION public.joined(a uuid[], b uuid[]) RETURNS uuid[] LANGUAGE plpgsql AS
    'BEGIN ${RUN} RETURN a OPERATOR(pg_catalog.||) b; END'`,
  'CREATE OPERATOR public.|| (FUNCTION = public.joined, LEFTARG = uuid[], RIGHTARG = uuid[])',
  ...LISTS,
];
const REPORTED = ['operator public.*', 'operator public.||', 'function public.unnest', 'function public.cardinality'];

/** The number of runs, of deleted rows of the audit, and the latest time that a daemon has written. */
const RESULTS = `SELECT count(*)::integer AS runs, coalesce(sum(deleted), 0)::integer AS deleted,
    (SELECT max(at) FROM vault.audit) AS latest FROM public.taken`;

async function query(fleet: Fleet, user: string, statements: readonly string[]) {
  const client = new Client({ host: '127.0.0.1', port: fleet.server.port, user, database: 'postgres' });
  await client.connect();
  try {
    let rows: readonly Readonly<Record<string, unknown>>[] = [];
    for (const text of statements) ({ rows } = await client.query(text));
    return rows;
  } finally {
    await client.end();
  }
}

/** Uses every kind of statement once. Resolves to the number of calls that failed. */
async function useTokens({ at, everything }: Fleet): Promise<number> {
  const call = async (...[operation, parts]: readonly [Parameters<Perform>[1], Parameters<Perform>[2]]) =>
    (await at(0)(everything, operation, parts)).status;
  const body = { id: 'abc', type: 'token', data: 'one', containers: ['/a/'], deduplicate_token: true };
  return [
    await call('createToken', { body }),
    await call('createToken', { body: { type: 'token', data: 'two' } }),
    await call('updateToken', { id: 'abc', body: { data: 'three' } }),
    await call('getToken', { id: 'abc' }),
    await call('listTokens', { query: 'container=/a/' }),
    await call('deleteToken', { id: 'abc' }),
  ].filter((status) => status >= 400).length;
}

/** Lets a role that may create objects in `public` attack a daemon: `portOf` is that of its connections. */
async function attack(bin?: string, portOf?: (serverPort: number) => Promise<number>) {
  await using fleet = await startFleet({
    daemons: 1,
    faults: [500, 503],
    ...(bin && { bin }),
    ...(portOf && { portOf }),
  });
  await query(fleet, 'postgres', ['CREATE ROLE mallory LOGIN', 'GRANT CREATE ON SCHEMA public TO mallory']);
  await query(fleet, 'mallory', ATTACK);
  // A statement that a connection has prepared keeps its functions.
  await fleet.kill(0);
  await fleet.start(0);
  const failed = await useTokens(fleet);
  const [taken] = await query(fleet, 'postgres', [RESULTS]);
  const hours = Math.round((Number(taken?.['latest']) - Date.now()) / HOUR_MS);
  const report = await fleet.cli('doctor', '--output', 'json');
  const missed = REPORTED.filter((name) => !report.includes(name));
  const figures = {
    run_as_owner: Number(taken?.['runs']),
    audit_rows_deleted: Number(taken?.['deleted']),
    clock_off_hours: hours,
    calls_failed: failed,
  };
  if (figures.run_as_owner !== 0 || hours !== 0 || failed > 0) {
    throw new CheckFailure('functions of another role ran as the role of the vault', figures);
  }
  if (missed.length > 0) throw new CheckFailure(`vault doctor does not report ${missed.join()}`, figures);
  return figures;
}

/** Attacks a daemon that is connected directly, and one behind a pooler that drops the options of connections. */
async function attackBoth(_options: CheckOptions) {
  const direct = await attack();
  let pooler: Awaited<ReturnType<typeof startPooler>> | undefined;
  try {
    const pooled = await attack(undefined, async (port) => {
      pooler = await startPooler(port, 'drop');
      return pooler.port;
    });
    return { ...direct, pooled_run_as_owner: pooled.run_as_owner, reported: REPORTED.length };
  } finally {
    await pooler?.close();
  }
}

export const CHECK: Check = {
  number: 36,
  name: 'functions of another role',
  quick: true,
  run: attackBoth,
  /** Attacks a product that looks for functions in `public` first. */
  control: () => withPatch([SEARCH_PATH, UNSAFE_PATH, RECOGNIZED], (bin) => attack(bin)),
};
