/** What other processes run (`node --input-type=module -e`), with better-sqlite3 and nothing of the vault's. */

/** Arguments: file, milliseconds. Holds the write lock for so long; prints a line when it has it. */
export const LOCK_HOLDER = `
import Database from 'better-sqlite3';
const [, file, ms] = process.argv;
const database = new Database(file, { fileMustExist: true, timeout: 5000 });
database.exec('BEGIN IMMEDIATE');
console.log('locked');
setTimeout(() => { database.exec('ROLLBACK'); database.close(); }, Number(ms));
`;

/**
 * Argument: file. A server that POST makes wait for the lock inside its event loop, as the vault must not; GET answers at
 * once. Prints its port. Ends by itself.
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
