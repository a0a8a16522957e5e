import { describe, expect, it } from 'vitest';
import { listAll } from '../../src/cli/operation/list-all.ts';
import { viewOf } from '../../src/cli/operation/run-operation.ts';
import { createItemPrinter } from '../../src/cli/output/print-items.ts';
import { FORMATS, type Format } from '../../src/cli/output/result-view.ts';
import { parsePath } from '../../src/cli/output/select-field.ts';
import type { Call, Client } from '../../src/contract/call.ts';
import type { Json } from '../../src/contract/json.ts';
import { OPERATIONS } from '../../src/contract/operations.ts';

const view = viewOf(OPERATIONS.listTokens);
const CALL: Call = { operation: 'listTokens', params: {}, query: [['type', 'token']] };

const item = (id: string, data = '1.10') => `{"id":"${id}","type":"token","data":${data}}`;

/**
 * Returns a client that lists in pages of `size`, by number or by cursor. `before` may add an item between two pages.
 */
function pagedClient(items: string[], before: (page: number) => void = () => undefined) {
  const calls: Call[] = [];
  const client: Client = {
    async call(call) {
      calls.push(call);
      const query = Object.fromEntries(call.query);
      const size = Number(query['size']);
      const start = Number(query['start'] ?? 0);
      const page = Number(query['page'] ?? start / size + 1);
      before(page);
      if (call.operation === 'listTokensByCursor') {
        const next = start + size < items.length ? `,"next":"${start + size}"` : '';
        const data = items.slice(start, start + size).join(',');
        return { status: 200, bodyText: `{"pagination":{"page_size":${size}${next}},"data":[${data}]}`, traceId: 't' };
      }
      const total = Math.ceil(items.length / size);
      const data = items.slice((page - 1) * size, page * size).join(',');
      const bodyText = `{"pagination":{"total_items":${items.length},"page_number":${page},"page_size":${size},"total_pages":${total}},"data":[${data}]}`;
      return { status: 200, bodyText, traceId: 't' };
    },
    close: async () => undefined,
  };
  return { client, calls };
}

async function printAll(
  client: Client,
  format: Format,
  options: { readonly field?: string; readonly quiet?: boolean; readonly call?: Call } = {},
) {
  const written: string[] = [];
  const noted: string[] = [];
  const field = options.field === undefined ? undefined : parsePath(options.field);
  const showing = { format, field, quiet: options.quiet ?? false, colour: false };
  const printer = createItemPrinter(
    view,
    showing,
    async (text) => void written.push(text),
    (text) => void noted.push(text),
  );
  await listAll(client, options.call ?? { ...CALL, query: [...CALL.query, ['size', '2']] }, printer);
  return { written, noted, text: written.join('') };
}

const FIVE = ['e', 'd', 'c', 'b', 'a'].map((id) => item(`tok-${id}`));

describe('list --follow', () => {
  /** Prints pages of tokens as they arrive, in a terminal of this width. */
  async function follow(width: number | undefined, pages: readonly (readonly Json[])[]) {
    const written: string[] = [];
    const noted: string[] = [];
    const printer = createItemPrinter(
      view,
      { format: 'table', field: undefined, quiet: false, endless: true, colour: false, width },
      async (text) => void written.push(text),
      (text) => void noted.push(text),
    );
    for (const page of pages) await printer.print(page);
    return { lines: written.join('').split('\n'), noted };
  }

  const entry = (id: string, data: string): Json => ({ id, type: 'token', data, containers: ['/a/'], metadata: {} });

  const pages = [[entry('a', 'x')], [entry('longer', 'y'.repeat(30))], [entry('b', 'z')]];

  it('prints one head and whole cells in a pipe', async () => {
    const { lines, noted } = await follow(undefined, pages);
    expect(lines).toEqual([
      'ID  TYPE   DATA  CONTAINERS  METADATA  CREATED_AT  EXPIRES_AT',
      'a   token  x     /a/         {}',
      `longer  token  ${'y'.repeat(30)}  /a/         {}`,
      `b       token  z${' '.repeat(29)}  /a/         {}`,
      '',
    ]);
    expect(noted).toEqual([]);
  });

  it('keeps the columns of the first page in a terminal, cuts data, but no id', async () => {
    const { lines, noted } = await follow(40, pages);
    expect(lines).toEqual([
      'ID  TYPE   DATA  CONTAINERS  METADATA',
      'a   token  x     /a/         {}',
      'longer  token  yyy…  /a/         {}',
      'b       token  z     /a/         {}',
      '',
    ]);
    expect(noted).toEqual(['hidden columns: created_at, expires_at (choose with --columns)']);
  });
});

describe('list --all', () => {
  it('requests pages of the largest size, keeps the filters, and stops at the last page', async () => {
    const { client, calls } = pagedClient(FIVE);
    await printAll(client, 'ndjson', { call: CALL });
    expect(calls.map((call) => call.query)).toEqual([
      [
        ['type', 'token'],
        ['size', '100'],
      ],
    ]);
    const small = pagedClient(FIVE);
    await printAll(small.client, 'ndjson');
    expect(small.calls.map((call) => call.query.at(-1))).toEqual([
      ['size', '2'],
      ['start', '2'],
      ['start', '4'],
    ]);
  });

  it.each(FORMATS)('%s, except a table, streams page by page; each shows every item', async (format) => {
    const { written, text } = await printAll(pagedClient(FIVE).client, format);
    expect(written.length).toBe(format === 'table' ? 1 : format === 'json' ? 4 : 3);
    for (const id of 'abcde') expect(text.split(`tok-${id}`)).toHaveLength(2);
  });

  it('prints ids or a field of each item, with an empty line for a missing one', async () => {
    const { client } = pagedClient([item('tok-c', '{"n":null}'), item('tok-b', '{"n":1.10}'), item('tok-a', '"x"')]);
    expect((await printAll(client, 'json', { quiet: true })).text).toBe('tok-c\ntok-b\ntok-a\n');
    expect((await printAll(client, 'json', { field: 'data.n' })).text).toBe('null\n1.10\n\n');
  });

  it('prints no item twice when items move to the next page', async () => {
    const items = [...FIVE];
    const { client } = pagedClient(items, (page) => {
      if (page === 2) items.unshift(item('tok-new'));
    });
    const call: Call = { operation: 'listApplications', params: {}, query: [['size', '2']] };
    const { text } = await printAll(client, 'ndjson', { quiet: true, call });
    expect(text).toBe('tok-e\ntok-d\ntok-c\ntok-b\ntok-a\n');
  });

  it('rejects with the reply of a page with a problem', async () => {
    const { client } = pagedClient(FIVE);
    const bodyText =
      '{"type":"urn:token-vault:problem:vault_busy","title":"","status":503,"detail":"busy","instance":""}';
    const failing: Client = {
      ...client,
      call: (call) =>
        call.query.at(-1)?.[1] === '2' ? Promise.resolve({ status: 503, bodyText, traceId: '' }) : client.call(call),
    };
    const refused = { name: 'RefusedReply', reply: { status: 503 } };
    await expect(printAll(failing, 'ndjson', { quiet: true })).rejects.toMatchObject(refused);
  });
});
