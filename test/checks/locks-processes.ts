/** Scripts for other processes (`node --input-type=module -e`). They use better-sqlite3 but no vault code. */

/** Arguments: file, milliseconds. Takes the write lock, prints a line, and holds the lock for the given time. */
export const LOCK_HOLDER = `
import Database from 'better-sqlite3';
const [, file, ms] = process.argv;
const database = new Database(file, { fileMustExist: true, timeout: 5000 });
database.exec('BEGIN IMMEDIATE');
console.log('locked');
setTimeout(() => { database.exec('ROLLBACK'); database.close(); }, Number(ms));
`;

/**
 * Argument: file. Serves HTTP and prints its port. A POST waits for the lock inside the event loop, which the vault
 * must not do. A GET answers at once. Exits after 20 seconds.
 */
export const STALLING_SERVER = `
import { createServer } from 'node:http';
import Database from 'better-sqlite3';
const [, file] = process.argv;
const database = new Database(file, { timeout: 5000 });
database.pragma('journal_mode = WAL');
database.exec('CREATE TABLE t (x INTEGER)');
const server = createServer((request, response) => {
  if (request.method === 'POST') database.exec('INSERT INTO t VALUES (1)');
  response.end('{}');
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
setTimeout(() => process.exit(), 20000);
`;
