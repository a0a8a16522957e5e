import { statSync } from 'node:fs';
import { expect, it } from 'vitest';
import { rawConnection } from './store-sqlite-fixture.ts';
import { callVault, fileVault, withVault } from './vault-admin-fixture.ts';

const PREFILLED = 10_000;
const BATCH = 100;
const MEASURED = 1_000;
/** The bytes of a page in the log, including the header of its frame. */
const FRAME = 4096 + 24;
const MAX_PAGES = 7.5;

/** Returns the n-th card number, with its check digit (ISO/IEC 7812-1). */
function cardNumber(n: number): string {
  const body = `4${String((n * 7_919_999) % 1e14).padStart(14, '0')}`;
  const sum = [...body].reduce((all, digit, at) => {
    const doubled = at % 2 === 0 ? Number(digit) * 2 : Number(digit);
    return all + (doubled > 9 ? doubled - 9 : doubled);
  }, 0);
  return `${body}${(10 - (sum % 10)) % 10}`;
}

it(`writes at most ${MAX_PAGES} pages for a lone create, on average`, async () => {
  const { file, apiKey } = await fileVault(0);
  await withVault(file, async (vault) => {
    const card = (n: number) => ({
      type: 'card',
      data: { number: cardNumber(n), expiration_month: 1, expiration_year: 2030 },
    });
    const call = async (operation: 'createToken' | 'tokenize', body: object) => {
      const { status } = await callVault(vault, apiKey, operation, { body });
      if (status !== 201) throw new Error(`${status}`);
    };
    for (let n = 0; n < PREFILLED; n += BATCH) {
      await call(
        'tokenize',
        Array.from({ length: BATCH }, (_, at) => card(n + at)),
      );
    }
    const reader = await rawConnection(file);
    expect(reader.pragma('wal_checkpoint(TRUNCATE)', { simple: true })).toBe(0);
    // SQLite does not reuse frames of the log while the file is being read, so the length of the log counts the pages.
    reader.exec('BEGIN; SELECT count(*) FROM header');
    for (let n = PREFILLED; n < PREFILLED + MEASURED; n += 1) await call('createToken', card(n));
    const pages = Math.floor(statSync(`${file}-wal`).size / FRAME) / MEASURED;
    reader.exec('COMMIT');
    expect(pages).toBeLessThanOrEqual(MAX_PAGES);
  });
}, 60_000);
