import { randomBytes } from 'node:crypto';
import net from 'node:net';
import { text } from 'node:stream/consumers';
import { Client } from 'pg';
import { inject } from 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    /** A port that answers each connection with the URL of this run's server. */
    readonly postgres: number;
  }
}

/** Creates an empty database on the server of this run; returns its URL, without the parameters of a store. */
export async function createDatabase(): Promise<string> {
  const url = await text(net.connect(inject('postgres'), '127.0.0.1'));
  if (url === '') throw new Error('PostgreSQL did not start');
  const name = `vault_${randomBytes(6).toString('hex')}`;
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query(`CREATE DATABASE ${name}`);
  await client.end();
  return url.replace(/[^/]*$/, name);
}
