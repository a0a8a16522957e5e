import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type Check, CheckFailure, type CheckOptions } from '../check.ts';
import { startFleet } from './fleet.ts';

const TOKENS = { quick: 50, full: 2_000 } as const;
const CANARY = 'canary-4f1c';

/** Searches all files of the server and its log of all statements for values and keys. */
async function search({ quick }: CheckOptions, leak?: string) {
  const log: string[] = [];
  const settings = { log_statement: 'all' };
  await using fleet = await startFleet({ daemons: 1, settings, onLog: (line) => void log.push(line) });
  const rule = { description: `${CANARY} rule`, priority: 1, container: `/${CANARY}/`, transform: 'reveal' };
  const body = {
    name: `${CANARY} app`,
    type: 'private',
    rules: [{ ...rule, permissions: ['token:create', 'token:read'] }],
  };
  const made = await fleet.at(0)(fleet.management, 'createApplication', { body });
  const key = String(made.body['key']);
  const ids: string[] = [];
  for (let n = 0; n < TOKENS[quick ? 'quick' : 'full']; n += 1) {
    const data = { secret: `${CANARY} data ${n}` };
    const token = { type: 'token', data, metadata: { note: `${CANARY} note` }, containers: [`/${CANARY}/${n}/`] };
    const created = await fleet.at(0)(key, 'createToken', {
      body: { ...token, search_indexes: ['{{ data.secret }}'] },
    });
    if (created.status !== 201) throw new Error(`createToken was answered ${created.status} ${created.text}`);
    ids.push(String(created.body['id']));
  }
  for (const id of ids) await fleet.at(0)(key, 'getToken', { id });
  const client = await fleet.sqlClient();
  if (leak !== undefined) await client.query('UPDATE vault.sweep SET clock_note = $1', [leak]);
  await client.query('CHECKPOINT');
  await client.end();

  const wanted = [CANARY, key, fleet.management, fleet.everything];
  const needles = wanted.flatMap((text) => [Buffer.from(text), Buffer.from(Buffer.from(text).toString('hex'))]);
  const entries = readdirSync(fleet.server.folder, { withFileTypes: true, recursive: true });
  const paths = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  const hits = paths.filter((path) => {
    const bytes = readFileSync(path);
    return needles.some((needle) => bytes.includes(needle));
  });
  if (needles.some((needle) => log.join('\n').includes(needle.toString()))) hits.push(`${fleet.server.folder} log`);
  const size = paths.reduce((sum, path) => sum + statSync(path).size, 0);
  const figures = {
    files: paths.length,
    log_lines: log.length,
    mib: Math.round(size / 2 ** 20),
    values: wanted.length,
    hits: hits.length,
  };
  if (hits.length > 0) throw new CheckFailure(`found in ${hits[0]?.slice(fleet.server.folder.length)}`, figures);
  return figures;
}

export const CHECK: Check = {
  number: 30,
  name: 'leakage into the database',
  quick: true,
  run: (options) => search(options),
  /** A value that is not sealed. */
  control: (options) => search(options, CANARY),
};
