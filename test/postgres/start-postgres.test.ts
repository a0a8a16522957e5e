import { existsSync } from 'node:fs';
import net from 'node:net';
import { Client } from 'pg';
import { expect, it } from 'vitest';
import { createDatabase } from './create-database.ts';
import { startPostgres } from './start-postgres.ts';

it('creates databases that order text by a language, so that a missing COLLATE shows', async () => {
  const client = new Client({ connectionString: await createDatabase() });
  await client.connect();
  try {
    const { rows } = await client.query(`SELECT 'a' < 'B' AS words, 'a' < 'B' COLLATE "C" AS bytes`);
    expect(rows).toEqual([{ words: true, bytes: false }]);
  } finally {
    await client.end();
  }
});

it('leaves no process and no file', async () => {
  const { port, folder, stop } = await startPostgres();
  expect(existsSync(`${folder}/.s.PGSQL.${port}`)).toBe(true);
  await stop();
  expect(existsSync(folder)).toBe(false);
  const refused = await new Promise((resolve) => net.connect(port, '127.0.0.1').on('error', resolve));
  expect(refused).toMatchObject({ code: 'ECONNREFUSED' });
});
