import { inspect } from 'node:util';
import { beforeAll, expect, it } from 'vitest';
import { PgError, toPgError, toProblem, treatmentOf } from '../../src/store/postgres/pg-error.ts';
import type { SqlClient } from '../../src/store/postgres/sql-client.ts';
import { createDatabase } from './create-database.ts';
import { openClient } from './open-client.ts';

let url = '';
beforeAll(async () => {
  url = await createDatabase();
});

/** Makes the server report a code that is costly to cause. */
const raise = (code: string) => `DO $$ BEGIN RAISE EXCEPTION 'card 4242' USING ERRCODE = '${code}'; END $$`;

it.each([
  ['SELECT FROM missing', '42P01', 'fail', 'internal_error'],
  ['SELECT missing', '42703', 'fail', 'internal_error'],
  ['SET ROLE pg_monitor; SELECT FROM pg_authid', '42501', 'fail', 'vault_busy'],
  ['PREPARE p AS SELECT 1; PREPARE p AS SELECT 1', '42P05', 'fail', 'internal_error'],
  ['EXECUTE missing', '26000', 'fail', 'internal_error'],
  ['BEGIN; SELECT missing', '42703', 'fail', 'internal_error'],
  ['SELECT 1 / 0', '22012', 'fail', 'vault_moved'],
  ["SELECT 'x'::uuid", '22P02', 'fail', 'internal_error'],
  [
    'CREATE TABLE public.other (a int UNIQUE); INSERT INTO public.other VALUES (1), (1)',
    '23505',
    'fail',
    'internal_error',
  ],
  ['SET statement_timeout = 1; SELECT pg_sleep(1)', '57014', 'again', 'vault_busy'],
  ['BEGIN READ ONLY; CREATE TABLE public.x ()', '25006', 'new_hosts', 'vault_busy'],
  ['SELECT pg_terminate_backend(pg_backend_pid())', '57P01', 'reconnect', 'vault_busy'],
  [raise('40001'), '40001', 'again', 'vault_busy'],
  [raise('40P01'), '40P01', 'again', 'vault_busy'],
  [raise('55P03'), '55P03', 'again', 'vault_busy'],
  [raise('53300'), '53300', 'again', 'vault_busy'],
  [raise('53200'), '53200', 'fail', 'vault_busy'],
  [raise('53400'), '53400', 'fail', 'vault_busy'],
  [raise('53100'), '53100', 'fail', 'no_space'],
  [raise('57P03'), '57P03', 'reconnect', 'vault_busy'],
  [raise('08006'), '08006', 'reconnect', 'vault_busy'],
  [raise('XX001'), 'XX001', 'fail', 'integrity_failure'],
  [raise('XX002'), 'XX002', 'fail', 'integrity_failure'],
  [raise('XX000'), 'XX000', 'fail', 'internal_error'],
])('a write: %s', async (text, code, reaction, problem) => {
  const error = await failureOf(await openClient(url), text);
  expect(error.code).toBe(code);
  expect(treatmentOf(error, 'write')).toMatchObject({ reaction, problem });
  const isTemporary = problem === 'vault_busy' || problem === 'no_space';
  expect(toProblem(error, 'write')).toMatchObject({ code: problem, retryAfter: isTemporary ? 1 : undefined });
});

it.each([
  ['SELECT 1 / 0', 'integrity_failure'],
  ["SELECT 'x'::uuid", 'integrity_failure'],
  [raise('XX001'), 'integrity_failure'],
  ['SELECT missing', 'internal_error'],
])('a read: %s', async (text, problem) => {
  expect(toProblem(await failureOf(await openClient(url), text), 'read').code).toBe(problem);
});

/** Codes that need another server or a broken one. */
it.each([
  ['ECONNREFUSED', 'reconnect', 'store_unreachable'],
  ['ECONNRESET', 'reconnect', 'store_unreachable'],
  ['ENOTFOUND', 'reconnect', 'store_unreachable'],
  ['57P02', 'reconnect', 'store_unreachable'],
  ['28P01', 'fail', 'store_refused'],
  ['28000', 'fail', 'store_refused'],
  ['3D000', 'fail', 'store_refused'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'fail', 'store_insecure'],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 'fail', 'store_insecure'],
  ['CERT_HAS_EXPIRED', 'fail', 'store_insecure'],
])('%s', (code, reaction, fault) => {
  const error = toPgError(Object.assign(new Error('card 4242'), { code }));
  expect(treatmentOf(error, 'read')).toMatchObject({ reaction, fault });
});

it.each([
  ['42501', 'The role of the vault lacks a right to its tables (SQLSTATE 42501); `vault doctor` names it.'],
  ['28P01', 'The database refuses the vault (SQLSTATE 28P01).'],
])('a refused role: %s', (code, detail) => {
  expect(toProblem(new PgError(code), 'read')).toMatchObject({ code: 'vault_busy', detail });
});

it('repeats no message of the server', async () => {
  const error = await failureOf(await openClient(url), raise('40001'));
  expect(inspect(toProblem(error, 'write'), { depth: 9 })).not.toContain('4242');
  expect(inspect(error)).toContain('40001');
});

async function failureOf(client: SqlClient, text: string): Promise<PgError> {
  const error = await client.run({ text }).then(
    () => undefined,
    (cause: unknown) => cause,
  );
  if (!(error instanceof PgError)) throw new Error(`no PgError: ${inspect(error)}`);
  return error;
}
