import { readFile, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import { Fault } from '../../core/fault.ts';
import type { StoreHost, StoreUrl } from './store-url.ts';

/** The mode bits of a file for group and others. */
const OTHERS = 0o077;

/**
 * Returns the password for a server: PGPASSWORD, or the password in the first matching line of the password file.
 * Rejects with the fault `store_refused` without a password, and as `readOwnFile` does.
 */
export async function findPassword(
  { user, database, passfile }: StoreUrl,
  { host, port }: StoreHost,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<string> {
  const { PGPASSWORD, PGPASSFILE } = environment;
  if (PGPASSWORD !== undefined && PGPASSWORD !== '') return PGPASSWORD;
  const file = passfile ?? (PGPASSFILE || path.join(homedir(), '.pgpass'));
  const wanted = [host.startsWith('/') ? 'localhost' : host, String(port), database, user];
  for (const line of (await readOwnFile(file, { isSecret: true })).split(/\r?\n/)) {
    const fields = line.startsWith('#') ? [] : fieldsOf(line);
    const fits = wanted.every((value, at) => fields[at] === '*' || fields[at] === value);
    if (fits && fields[4] !== undefined) return fields[4];
  }
  throw new Fault('store_refused', `${file} has no password for ${user} on ${host}:${port}`, {
    hint: 'write one line host:port:database:user:password, or set PGPASSWORD',
  });
}

/** Splits a line at its colons; a backslash escapes the next character. */
function fieldsOf(line: string): readonly string[] {
  return [...line.matchAll(/(?:^|:)((?:[^:\\]|\\.)*)/g)].map(([, field = '']) => field.replace(/\\(.)/g, '$1'));
}

/**
 * Reads a file of the user. Rejects with the fault `store_refused` for an unreadable file, and with `store_insecure`
 * for a secret file that other users can access.
 */
export async function readOwnFile(file: string, { isSecret = false } = {}): Promise<string> {
  try {
    const { mode } = await stat(file);
    if (!isSecret || (mode & OTHERS) === 0 || process.platform === 'win32') return await readFile(file, 'utf8');
  } catch (cause) {
    throw new Fault('store_refused', `cannot read ${file}, which the connection to the store needs`, {
      hint: 'check the path and its permissions',
      cause,
    });
  }
  throw new Fault('store_insecure', `other users can read ${file}`, { hint: `chmod 600 ${file}` });
}
