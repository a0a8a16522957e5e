import { type Layout, SCHEMA } from '../../src/store/sqlite/file/schema.ts';

const ADDED = 'CREATE TABLE added (x INTEGER) STRICT';
const AGAIN = 'CREATE TABLE again (x INTEGER) STRICT';

/** A layout two formats after the current one. */
export const LATER: Layout = {
  format: 3,
  schema: [...SCHEMA, ADDED, AGAIN],
  migrations: { 1: (connection) => connection.exec(ADDED), 2: (connection) => connection.exec(AGAIN) },
};
