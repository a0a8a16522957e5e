import { describe } from 'vitest';
import { tamperFile } from '../checks/tamper-file.ts';
import { testImpossibleValues } from '../conformance/impossible-values.ts';
import { fileVault } from './vault-admin-fixture.ts';

const ROW = /row number that the vault never assigns/;
const SEQUENCE = /no tenant has had/;
const END = 9_223_372_036_854_775_807n;

describe('values of a file that no seal protects', () => {
  testImpossibleValues({
    async create() {
      const { file, management } = await fileVault(0);
      return { location: { file }, management };
    },
    alter: ({ file = '' }, sql) => tamperFile(file, (connection) => void connection.exec(sql)),
    cases: [
      ['a larger day than a double', 'UPDATE application_key SET last_used_day = 9007199254740993', /impossible day/],
      ['a larger month than a double', 'UPDATE token SET active_month = 9007199254740993', /impossible month/],
      ['the last row of a token', `UPDATE token SET token = ${END}`, ROW, 'createToken'],
      ['the last row of an application', `UPDATE application SET application = ${END} WHERE application = 2`, ROW],
      ['the last row of a key', `UPDATE application_key SET application_key = ${END} WHERE application_key = 2`, ROW],
      ['the number of tenants is a text', "UPDATE sqlite_sequence SET seq = 'x'", SEQUENCE, 'tenant'],
      ['no number of tenants', 'UPDATE sqlite_sequence SET seq = NULL', SEQUENCE],
      ['the number of tenants removed', 'DELETE FROM sqlite_sequence', SEQUENCE],
      ['a number of another table', "INSERT INTO sqlite_sequence VALUES ('token', 1)", SEQUENCE],
    ],
  });
});
