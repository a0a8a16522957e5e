import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { csvRows, readCsv } from '../../src/cli/commands/transfer/csv-rows.ts';
import { type ExportRow, exportHeader, exportLines } from '../../src/cli/commands/transfer/export-csv.ts';
import { openJournal } from '../../src/cli/commands/transfer/import-journal.ts';
import { type ImportRow, isSameToken } from '../../src/cli/commands/transfer/import-row.ts';
import { importRows } from '../../src/cli/commands/transfer/import-rows.ts';
import { decodePieces, readLines } from '../../src/cli/commands/transfer/input-file.ts';
import type { RowError } from '../../src/cli/commands/transfer/send-row.ts';
import { RefusedReply } from '../../src/cli/exit/refused-reply.ts';
import type { Call, Client, Reply } from '../../src/contract/call.ts';
import { PROBLEM_TYPE_PREFIX } from '../../src/contract/problems.ts';
import { Fault } from '../../src/core/fault.ts';
import { temporaryFolder } from '../temporary-folder.ts';

async function* piecesOf<T>(list: readonly T[]): AsyncGenerator<T> {
  yield* list;
}

async function all<T>(items: AsyncIterable<T>): Promise<readonly T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}

const records = async (text: string, step = text.length || 1) => {
  const pieces = text.match(new RegExp(`[\\s\\S]{1,${step}}`, 'g')) ?? [];
  return (await all(readCsv(piecesOf(pieces)))).map(({ line, cells }) => [line, ...cells]);
};

describe('readCsv', () => {
  const TEXT = 'a,b\r\n"1, ""x""",\n\n"two\r\nlines",z\r\n"",""\nlast,"q"';
  const EXPECTED = [
    [1, 'a', 'b'],
    [2, '1, "x"', ''],
    [4, 'two\r\nlines', 'z'],
    [6, '', ''],
    [7, 'last', 'q'],
  ];

  it.each([1, 2, 3, 100])('reads RFC 4180 in pieces of %i', async (step) => {
    expect(await records(TEXT, step)).toEqual(EXPECTED);
  });

  it('rejects a record above 16 MiB, and fails when its input fails', async () => {
    const endless = async function* () {
      yield 'a,"b';
      for (;;) yield 'x'.repeat(1024 * 1024);
    };
    await expect(all(readCsv(endless()))).rejects.toMatchObject({ code: 'invalid_data' });
    const broken = decodePieces(piecesOf([Buffer.from('a,b\n'), Buffer.from([0xff])]));
    await expect(all(readCsv(broken))).rejects.toMatchObject({ message: 'the file is not UTF-8' });
  });
});

describe('a CSV with a fault', () => {
  /** Returns the first cells of the records before the fault, and the fault. */
  async function readUntilFault(text: string, step: number) {
    const cells: (string | undefined)[] = [];
    try {
      const pieces = text.match(new RegExp(`[\\s\\S]{1,${step}}`, 'g')) ?? [];
      for await (const record of readCsv(piecesOf(pieces))) cells.push(record.cells[0]);
    } catch (error) {
      return { cells, fault: error instanceof Fault ? error.message : error };
    }
    return { cells, fault: undefined };
  }

  it.each([
    ['a quote in the middle', 'n\none\ntwo\n"bad"x\nthree\n', 'line 4 of the CSV: a quote is in the middle of a cell'],
    ['a quote behind text', 'n\none\ntwo\nba"d\nthree\n', 'line 4 of the CSV: a quote is in the middle of a cell'],
    ['an open quote', 'n\none\ntwo\n"bad\nthree\n', 'line 4 of the CSV: a quote is not closed'],
    ['a NUL after a quote', 'n\none\ntwo\n"bad"\0\nthree\n', 'line 4 of the CSV contains a NUL character'],
  ])('yields the records before %s, in pieces of any size', async (_what, text, fault) => {
    for (const step of [1, 3, text.length]) {
      expect(await readUntilFault(text, step)).toEqual({ cells: ['n', 'one', 'two'], fault });
    }
  });
});

describe('readLines', () => {
  it('numbers lines, skips empty ones and removes a byte order mark', async () => {
    const bytes = Buffer.from('\ufeffone\r\n\ntwo ✓\nthree');
    const cut = [bytes.subarray(0, 13), bytes.subarray(13, 14), bytes.subarray(14)];
    const lines = await all(readLines(decodePieces(piecesOf(cut))));
    expect(lines.map(({ line, body }) => [line, body])).toEqual([
      [1, 'one'],
      [3, 'two ✓'],
      [4, 'three'],
    ]);
  });
});

describe('csvRows', () => {
  const cards = async (map: readonly string[], text: string) =>
    (await all(csvRows(readCsv(piecesOf([text])), { type: 'card', map, onUnused: () => undefined }))).map(
      ({ line, body }) => [line, JSON.parse(body)],
    );

  it('maps columns to members, parses numbers and omits empty cells', async () => {
    const map = ['number=pan', 'expiration_month=mm', 'cvc=cvc', 'metadata.who=name', 'id=ref'];
    expect(await cards(map, 'ref,pan,mm,cvc,name,more\nr1,4242424242424242,07,012,"A, B",x\n,1,x,,,\n')).toEqual([
      [
        2,
        {
          id: 'r1',
          type: 'card',
          data: { number: '4242424242424242', expiration_month: 7, cvc: '012' },
          metadata: { who: 'A, B' },
        },
      ],
      [3, { type: 'card', data: { number: '1', expiration_month: 'x' } }],
    ]);
  });

  /** Reads a CSV without --type. Resolves to the bodies or refusals, and the unused columns. */
  async function typed(text: string, map: readonly string[] = []) {
    const unused: string[] = [];
    const options = {
      type: undefined,
      map,
      onUnused: (columns: readonly string[]) => unused.push(...columns),
    };
    const rows = await all(csvRows(readCsv(piecesOf([text])), options));
    return { rows: rows.map(({ body, refused }) => refused ?? JSON.parse(body)), unused };
  }

  it('reads the type of each row, containers, metadata, masks and indexes from columns of their names', async () => {
    const text = [
      'type,id,data,number,containers,metadata,metadata.who,mask,search_indexes,deduplicate_token,shoe',
      'token,a,007,,/a/,,Ann,,,,44',
      'card,b,,4242424242424242,"/a/, /b/","{""n"":""1""}",Bob,null,"{{ data.number | last4 }}",true,',
      'token,c,x,,"[""/c/""]",,,{{ data }},"[""{{ data }}"",""{{ data | upcase }}""]",,',
      '',
    ].join('\n');
    const { rows, unused } = await typed(text);
    expect(rows).toEqual([
      { id: 'a', type: 'token', data: '007', containers: ['/a/'], metadata: { who: 'Ann' } },
      {
        id: 'b',
        type: 'card',
        data: { number: '4242424242424242' },
        containers: ['/a/', '/b/'],
        metadata: { n: '1', who: 'Bob' },
        mask: null,
        search_indexes: ['{{ data.number | last4 }}'],
        deduplicate_token: true,
      },
      {
        id: 'c',
        type: 'token',
        data: 'x',
        containers: ['/c/'],
        mask: '{{ data }}',
        search_indexes: ['{{ data }}', '{{ data | upcase }}'],
      },
    ]);
    expect(unused).toEqual(['shoe']);
  });

  it('reads a list of tokens and rejects data whose type a cell does not show', async () => {
    const list = 'id,type,data,containers,created_at\n';
    const card = 'a,card,"{""number"":""4242424242424242""}",/a/,2030-01-01\n';
    const { rows, unused } = await typed(`${list}${card}b,token,7,/a/,2030-01-01\nc,card,,/a/,2030-01-01\n`);
    const read = { id: 'a', type: 'card', data: { number: '4242424242424242' }, containers: ['/a/'] };
    expect(rows).toEqual([read, expect.stringContaining('-o ndjson'), expect.stringContaining('masked')]);
    expect(unused).toEqual([]);
  });

  it('rejects a CSV without a type, rows of an unknown type, and rows of a type without its columns', async () => {
    await expect(typed('id,data\na,x\n')).rejects.toMatchObject({ code: 'usage' });
    await expect(typed('id;type\na;x\n')).rejects.toMatchObject({ hint: "pass --delimiter ';'" });
    const odd = await typed('type,data,metadata\ntoken,x,vip\ntoken,x,"[1]"\n');
    expect(odd.rows.map(({ metadata }) => metadata)).toEqual(['vip', [1]]);
    const mapped = await typed('Art,number\ncard,1\n', ['type=Art']);
    expect(mapped).toEqual({ rows: [{ type: 'card', data: { number: '1' } }], unused: [] });
    const { rows } = await typed('type,number\ncart,1\ncard,1\ntoken,1\n');
    expect(rows).toEqual([
      expect.stringMatching(/^type: must be one of token, /),
      { type: 'card', data: { number: '1' } },
      "--map must name the column of the token's data",
    ]);
  });

  it.each([
    [['number=no'], '--map number=no: the CSV has no column no'],
    [['number=b', 'cvc=pan '], '--map cvc=pan : the CSV has no column pan '],
    [['nummer=pan'], 'no member nummer'],
    [['number'], '--map number: must be member=column, such as number=COLUMN'],
    [['number=pan', 'number=b'], 'twice'],
    [['expiration_month=pan'], "must name the column of the card's number"],
  ])('rejects --map %j', async (map, message) => {
    await expect(cards(map, 'pan,b\n1,2\n')).rejects.toMatchObject({ message: expect.stringContaining(message) });
  });

  it('suggests a correction', async () => {
    const hint = (map: readonly string[], text = 'pan,b\n1,2\n') =>
      cards(map, text).then(
        () => undefined,
        (error: unknown) => (error instanceof Fault ? [error.code, error.hint] : error),
      );
    expect(await hint(['number=pam'])).toEqual(['usage', 'did you mean number=pan?']);
    expect(await hint(['number=something'])).toEqual(['usage', 'its columns are pan, b']);
    expect(await hint(['number=pan'], 'pan,b,pan\n1,2,3\n')).toEqual(['invalid_data', undefined]);
    expect(await hint(['number=pan'], 'pan,b\n1\n')).toEqual(['invalid_data', 'add a cell for the column b']);
  });
});

describe('a CSV of an export', () => {
  it('comes back exactly, whatever the data is', async () => {
    const data = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom("'=1", "''+", '1', '"1"', 'null', '', 'a\0b'),
      fc.jsonValue(),
    );
    const row = fc.record({
      id: fc.stringMatching(/^[-=+@'\w]{3,9}$/),
      type: fc.constant('token'),
      data,
      metadata: fc.dictionary(fc.stringMatching(/^[a-z]{1,3}$/), fc.string()),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(row, { minLength: 1, maxLength: 5 }), async (rows) => {
        const text = (await exportHeader()) + (await exportLines(rows as readonly ExportRow[]));
        const options = { type: undefined, map: [], onUnused: () => undefined };
        const read = await all(csvRows(readCsv(piecesOf([text])), options));
        expect(read.map(({ body }) => JSON.parse(body))).toEqual(JSON.parse(JSON.stringify(rows)));
        expect(read.some(({ refused }) => refused !== undefined)).toBe(false);
      }),
    );
  });
});

it('a CSV of an export keeps its values when columns were added or moved', async () => {
  const text = `shoe,${(await exportHeader()).trim().split(',').toReversed().join(',')}\n44,,,,,'=1+1,token,a\n44,,,,,7,token,b\n`;
  const unused: string[] = [];
  const options = { type: undefined, map: [], onUnused: (columns: readonly string[]) => unused.push(...columns) };
  const read = await all(csvRows(readCsv(piecesOf([text])), options));
  expect(read.map(({ body }) => JSON.parse(body))).toEqual([
    { id: 'a', type: 'token', data: '=1+1' },
    { id: 'b', type: 'token', data: 7 },
  ]);
  expect(unused).toEqual(['shoe']);
  const kept = await all(csvRows(readCsv(piecesOf([text])), { ...options, map: ['metadata.size=shoe'] }));
  expect(JSON.parse(kept[0]?.body ?? '')).toEqual({ id: 'a', type: 'token', data: '=1+1', metadata: { size: '44' } });
  const cut = "id,type,data,masked\na,token,'=1,\n";
  const [row] = await all(csvRows(readCsv(piecesOf([cut])), options));
  expect(JSON.parse(row?.body ?? '')).toEqual({ id: 'a', type: 'token', data: '=1' });
});

describe('isSameToken', () => {
  const body =
    '{"type":"token","data":{"n":1.10},"metadata":{"a":"1","b":"2"},"containers":["/A/","/b/"],"expires_at":"2031-01-01"}';
  const shown =
    '{"id":"x","type":"token","data":{"n":1.10},"metadata":{"b":"2","a":"1"},"containers":["/b/","/a/"],"expires_at":"2031-01-01T00:00:00.000+00:00"}';
  it('compares a reply with the sent request', () => expect(isSameToken(body, shown)).toBe(true));
  it.each([
    ['"n":1.10', '"n":1.1'],
    ['"token"', '"card"'],
    ['"2"', '"3"'],
    ['"/b/",', ''],
    ['2031', '2032'],
  ])('distinguishes %s from %s', (from, to) => expect(isSameToken(body, shown.replace(from, to))).toBe(false));
});

/** Simulates a vault that stores tokens by id. `answer` may return an error status for a call. */
function fakeVault(answer: (call: Call, tries: number) => number | undefined = () => undefined) {
  const tokens = new Map<string, string>();
  const tries = new Map<string, number>();
  let made = 0;
  let [running, most] = [0, 0];
  const problem = (status: number): Reply => ({
    status,
    traceId: '',
    retryAfter: 0,
    bodyText: JSON.stringify({ type: `${PROBLEM_TYPE_PREFIX}code${status}`, detail: `said ${status}` }),
  });
  function createAll(bodies: readonly { readonly id?: string }[]): Reply {
    const ids = bodies.map(({ id }) => id ?? `made-${++made}`);
    if (ids.some((id) => tokens.has(id))) return problem(409);
    for (const [at, id] of ids.entries()) tokens.set(id, JSON.stringify(bodies[at]));
    return { status: 201, traceId: '', bodyText: JSON.stringify(bodies) };
  }
  const client: Client = {
    async call(call) {
      running += 1;
      most = Math.max(most, running);
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
      const body = call.bodyText ?? '';
      tries.set(body, (tries.get(body) ?? 0) + 1);
      const status = answer(call, tries.get(body) ?? 0);
      if (status !== undefined) return problem(status);
      if (call.mediaType === 'text/plain') return problem(415);
      if (call.operation === 'tokenize') return createAll(JSON.parse(body));
      if (call.operation === 'getToken')
        return { status: 200, traceId: '', bodyText: tokens.get(call.params['id'] ?? '') ?? '{}' };
      if (call.operation === 'updateToken') return { status: 200, traceId: '', bodyText: '{}' };
      made += 1;
      const sent = JSON.parse(body);
      const id: string = sent.id === undefined || sent.id.includes('{{') ? `made-${made}` : sent.id;
      if (tokens.has(id)) return problem(409);
      tokens.set(id, body);
      return { status: 201, traceId: '', bodyText: JSON.stringify({ ...sent, id }) };
    },
    close: async () => undefined,
  };
  return { client, tokens, most: () => most };
}

const rowsOf = (bodies: readonly object[]): AsyncGenerator<ImportRow> =>
  piecesOf(bodies.map((body, at) => ({ line: at + 1, body: JSON.stringify(body) })));
const numbered = (count: number) =>
  Array.from({ length: count }, (_, n) => ({ id: `row-${n}`, type: 'token', data: n }));

async function run(
  client: Client,
  rows: AsyncIterable<ImportRow>,
  more: Partial<Parameters<typeof importRows>[1]> = {},
) {
  const errors: RowError[] = [];
  const refused = async (error: RowError) => void errors.push(error);
  const ending = await importRows(rows, {
    client,
    apiKey: 'key',
    refused,
    progress: () => undefined,
    ...more,
  });
  return { ...ending, errors };
}

describe('importRows', () => {
  it('sends 200 rows per call in three parallel calls, and the rows of a rejected call one by one', async () => {
    const calls: string[] = [];
    const vault = fakeVault((call) => void calls.push(call.operation));
    const { counts: all } = await run(vault.client, rowsOf(numbered(1_001)));
    expect(all).toEqual({ created: 1_001, skipped: 0, failed: 0 });
    expect(calls).toEqual(['createToken', ...Array.from({ length: 5 }, () => 'tokenize'), 'createToken']);
    expect(vault.most()).toBe(3);
    const more = [
      ...numbered(102),
      { id: 'row-1', type: 'token', data: 'other' },
      { id: 'new', type: 'token', data: 1 },
    ];
    const { counts, errors } = await run(vault.client, rowsOf(more));
    expect(counts).toEqual({ created: 1, skipped: 102, failed: 1 });
    expect(errors).toMatchObject([{ line: 103, status: 409 }]);
  });

  it('sends a row alone that is not exactly one request', async () => {
    const odd = [
      '{"type":"token","data":1},{"type":"token","data":2}',
      '[{"type":"token","data":3}]',
      '{"a":1}',
      '5',
      '',
    ];
    const sent: string[] = [];
    const vault = fakeVault((call) => {
      if (call.mediaType !== 'text/plain') sent.push(`${call.operation} ${call.bodyText}`);
      return call.operation === 'createToken' && call.mediaType !== 'text/plain' ? 400 : undefined;
    });
    const good = numbered(2).map((row) => JSON.stringify(row));
    const rows = [...odd, ...good].map((body, at) => ({ line: at + 1, body }));
    const { counts } = await run(vault.client, piecesOf(rows));
    expect(counts).toEqual({ created: 2, skipped: 0, failed: 5 });
    expect(sent).toEqual([`tokenize [${good.join(',')}]`, ...odd.map((body) => `createToken ${body}`)]);
  });

  it('repeats a row while the vault is busy', async () => {
    const vault = fakeVault((_call, tries) => (tries < 3 ? 503 : undefined));
    expect((await run(vault.client, rowsOf(numbered(5)))).counts.created).toBe(5);
  });

  it('removes the mask from a token whose row has none', async () => {
    const calls: string[] = [];
    const vault = fakeVault(({ operation, params }) => void calls.push(`${operation} ${params['id'] ?? ''}`));
    for (const [own, id] of [
      [{ id: 'one' }, 'one'],
      [{}, 'made-2'],
      [{ id: 'x{{ data }}' }, 'made-3'],
    ] as const) {
      calls.length = 0;
      const row = { ...own, type: 'card_number', data: '1', mask: null };
      expect((await run(vault.client, rowsOf([row]))).counts).toEqual({ created: 1, skipped: 0, failed: 0 });
      expect(calls).toEqual(['createToken ', 'updateToken mask', 'createToken ', `updateToken ${id}`]);
    }
  });

  it('reads no row when the key may not create tokens', async () => {
    const read: number[] = [];
    const rows = (async function* () {
      for (const row of await all(rowsOf(numbered(3)))) {
        read.push(row.line);
        yield row;
      }
    })();
    const vault = fakeVault((call) => (call.mediaType === 'text/plain' ? 403 : undefined));
    const { counts, unanswered, stoppedBy } = await run(vault.client, rows);
    expect(stoppedBy).toMatchObject({ reply: { status: 403 } });
    expect([counts, unanswered, read, vault.tokens.size]).toEqual([{ created: 0, skipped: 0, failed: 0 }, 0, [], 0]);
  });

  it('reports rejected rows in order, and limits how far it reads ahead of an unanswered row', async () => {
    const waits = new Map([
      ['row-0', 40],
      ['row-7', 20],
    ]);
    const vault = fakeVault();
    let read = 0;
    async function* rows(count: number) {
      for await (const row of rowsOf(numbered(count))) {
        read = row.line;
        yield row;
      }
    }
    const client: Client = {
      ...vault.client,
      async call(call) {
        if (call.mediaType === 'text/plain') return vault.client.call(call);
        const { id } = JSON.parse(call.bodyText ?? '{}');
        await new Promise((resolve) => setTimeout(resolve, waits.get(id ?? '') ?? 0));
        return { status: 400, traceId: '', bodyText: '{"type":"x","detail":"no"}' };
      },
    };
    const { errors } = await run(client, rows(200));
    expect(errors.map(({ line }) => line)).toEqual(numbered(200).map((_row, at) => at + 1));
    const { promise: stuck, resolve: free } = Promise.withResolvers<void>();
    const held: Client = {
      ...vault.client,
      async call(call) {
        if (call.bodyText?.includes('"row-0"')) await stuck;
        return vault.client.call(call);
      },
    };
    const running = run(held, rows(3_000));
    for (let before = -1; before !== read; ) {
      before = read;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    expect(read).toBeGreaterThan(400);
    expect(read).toBeLessThan(700);
    free();
    expect((await running).counts.created).toBe(3_000);
  });

  it.each([
    ['in one batch', 0],
    ['in the next batch', 200],
  ])('creates the first of two rows with one id, %s', async (_, between) => {
    const vault = fakeVault((call) => (call.bodyText?.includes('wrong') ? 400 : undefined));
    const slow: Client = {
      ...vault.client,
      async call(call) {
        if (call.bodyText?.includes('first')) await new Promise((resolve) => setTimeout(resolve, 20));
        return vault.client.call(call);
      },
    };
    const named = (data: string) => ({ id: 'same', type: 'token', data });
    await run(slow, rowsOf([named('first'), { type: 'token', data: 'wrong' }, ...numbered(between), named('second')]));
    expect(vault.tokens.get('same')).toContain('first');
  });

  it.each([401, 500, 507])('stops at %i, which every row would get', async (status) => {
    const vault = fakeVault((call) => (call.bodyText?.includes('row-40') ? status : undefined));
    const { counts, unanswered, stoppedBy } = await run(vault.client, rowsOf(numbered(1000)));
    expect(stoppedBy).toBeInstanceOf(RefusedReply);
    expect(stoppedBy).toMatchObject({ reply: { status } });
    expect(vault.tokens.size).toBeLessThanOrEqual(400);
    expect(counts.created).toBe(vault.tokens.size);
    expect(unanswered).toBeGreaterThan(0);
    expect(unanswered).toBeLessThanOrEqual(600);
  });
});

describe('a journal', () => {
  const place = () => join(temporaryFolder(onTestFinished), 'journal');
  const nameless = (count: number) => Array.from({ length: count }, (_, n) => ({ type: 'token', data: n }));

  it('creates no row twice, however often the import is stopped', async () => {
    const path = place();
    let budget = 2_500;
    const vault = fakeVault((call) => {
      if (call.operation !== 'tokenize') return undefined;
      budget -= 200;
      return budget < 0 ? 500 : undefined;
    });
    const attempt = async () => {
      const journal = await openJournal(path);
      return run(vault.client, journal.remaining(rowsOf(nameless(5_000))), { mark: journal.mark });
    };
    expect((await attempt()).stoppedBy).toBeInstanceOf(RefusedReply);
    expect(vault.tokens.size).toBe(2_400);
    expect((await openJournal(path)).done).toBe(2_400);
    budget = 10_000;
    expect((await attempt()).counts).toEqual({ created: 2_600, skipped: 0, failed: 0 });
    expect(vault.tokens.size).toBe(5_000);
    expect((await attempt()).counts).toEqual({ created: 0, skipped: 0, failed: 0 });
    if (process.platform !== 'win32') expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it('notes every answered row when a signal stops the import, also while it waits for a row', async () => {
    const path = place();
    const journal = await openJournal(path);
    const vault = fakeVault(() => undefined);
    const stopping = new AbortController();
    async function* endless() {
      yield* rowsOf(nameless(450));
      setImmediate(() => stopping.abort('stopped'));
      await new Promise(() => undefined);
    }
    const mark = journal.mark;
    const ending = await run(vault.client, journal.remaining(endless()), { mark, signal: stopping.signal });
    expect(ending).toMatchObject({ counts: { created: 400 }, stoppedBy: 'stopped', unanswered: 0 });
    expect(ending.remaining).toBeUndefined();
    expect((await openJournal(path)).done).toBe(400);
  });

  it('rejects another file, a shorter file and an invalid journal', async () => {
    const path = place();
    const journal = await openJournal(path);
    await all(journal.remaining(rowsOf(nameless(3))));
    await journal.mark(3)(1);
    expect((await openJournal(path)).refused).toBe(1);
    await expect(openJournal(path).then((again) => all(again.remaining(rowsOf(numbered(3)))))).rejects.toMatchObject({
      code: 'conflict',
    });
    await expect(openJournal(path).then((again) => all(again.remaining(rowsOf(nameless(2)))))).rejects.toMatchObject({
      code: 'conflict',
    });
    expect(await openJournal(path).then((again) => all(again.remaining(rowsOf(nameless(4)))))).toHaveLength(1);
    const whole = readFileSync(path, 'utf8');
    for (const broken of ['{"version":1}', whole.replace(/"secret":".{8}/, '"secret":"'), whole.replace('1', '2')]) {
      writeFileSync(path, broken);
      await expect(openJournal(path)).rejects.toMatchObject({ code: 'invalid_data' });
      expect(existsSync(path) && readFileSync(path, 'utf8')).toBe(broken);
    }
  });
});
