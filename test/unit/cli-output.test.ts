import { stripVTControlCharacters } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { viewOf } from '../../src/cli/operation/run-operation.ts';
import { escapeInJson, stripControlCharacters, stripFromLines } from '../../src/cli/output/control-characters.ts';
import { cutToWidth, displayWidth, fitWidths, wrapToWidth } from '../../src/cli/output/display-width.ts';
import { createPrinter, wantsColour } from '../../src/cli/output/print-result.ts';
import { chooseShowing, renderResult } from '../../src/cli/output/render-result.ts';
import { chooseFormat, FORMATS } from '../../src/cli/output/result-view.ts';
import { RESULT_VIEWS } from '../../src/cli/output/result-views.ts';
import { checkField, parsePath, selectField } from '../../src/cli/output/select-field.ts';
import { OPERATIONS } from '../../src/contract/operations.ts';
import { parseJson } from '../../src/core/json/parse.ts';

const TOKEN =
  '{"id":"tok-1","type":"token","data":{"b":1.10,"a":9007199254740993,"10":1e2,"s":"yes"},"containers":["/a/","/b/"],"metadata":{"f":"=1+1"},"created_by":"x"}';
const PAGE = `{"pagination":{"total_items":3,"page_number":1,"page_size":2,"total_pages":2},"data":[${TOKEN},{"id":"tok-2","type":"token"}]}`;
const one = viewOf(OPERATIONS.getToken);
const list = viewOf(OPERATIONS.listTokens);
const plain = { colour: false };

async function render(
  format: (typeof FORMATS)[number],
  body: string,
  view = one,
  options: { colour: boolean; width?: number } = plain,
) {
  return renderResult(body, view, { format, field: undefined, quiet: false, ...options });
}

describe('formats', () => {
  it.each(FORMATS)('%s shows every member of any result', async (format) => {
    const view = viewOf(OPERATIONS.detokenize);
    const body = '["plain",{"x":["deep"]}]';
    const { text } = await renderResult(body, view, { ...chooseShowing(format, undefined, false, view), ...plain });
    expect(text).toBe(`${body}\n`);
  });

  it('csv has the columns of the row and contains no formula', async () => {
    const { text } = await render(
      'csv',
      '{"id":"=1+1","type":"token","data":"a,\\"b\\"\\nc","containers":["/a/","/b/"]}',
    );
    expect(text).toBe(
      'id,type,data,containers,metadata,created_at,expires_at\n\'=1+1,token,"a,""b""\nc","/a/, /b/",,,\n',
    );
  });

  it('table cuts no id, however narrow the terminal is', async () => {
    const id = '0b6bb0cf-6a4c-4a55-9c7c-4d3a0c9dbf0f';
    const body = `{"pagination":{},"data":[{"id":"${id}","type":"token","data":"a text that is long"}]}`;
    for (const width of [20, 40, 60, 200]) {
      expect((await render('table', body, list, { colour: false, width })).text, String(width)).toContain(id);
    }
  });

  it('a table cuts no card, and hides no column that --columns names', async () => {
    const data = '{"number":"XXXXXXXXXXXX4242","expiration_month":2,"expiration_year":2030}';
    const other = '{"number":null,"expiration_month":2,"expiration_year":2030,"more":"a text that is long"}';
    const body = `{"pagination":{},"data":[{"id":"a","type":"card","data":${data}},{"id":"b","type":"card","data":${other}}]}`;
    const columns = ['data', 'created_by', 'id', 'type', 'metadata.customer'];
    const draw = (view: typeof list, width: number) => render('table', body, view, { colour: false, width });
    expect((await draw(list, 40)).text.split('\n')[1]).toBe('a   card  XXXXXXXXXXXX4242 02/2030');
    const { text, note } = await draw({ ...list, columns, areChosen: true }, 30);
    expect(text).toMatch(/^DATA +CREATED_BY +ID +TYPE +METADATA\.…\nX{12}4242 02\/2030 /);
    expect(note).toBeUndefined();
  });

  it('csv guards formulas in texts, not in numbers', async () => {
    const view = { ...one, columns: ['id', 'data'] };
    const csv = async (data: string) => (await render('csv', `{"id":"x","data":${data}}`, view)).text.split('\n')[1];
    expect([await csv('-1'), await csv('-1.50'), await csv('"-1"')]).toEqual(['x,-1', 'x,-1.50', "x,'-1"]);
  });

  it('a first page above the counting limit says so', async () => {
    const page = PAGE.replace('"total_items":3', '"total_items":100000,"total_items_capped":true');
    expect((await render('table', page, list)).note).toBe('2 of more than 100,000; --all for the rest');
  });

  it('a table of a list abbreviates lists and objects without JSON quotes', async () => {
    const rule =
      '{"description":"why","priority":1,"container":"/pci/","transform":"mask","permissions":["token:read"]}';
    const page = `{"data":[{"id":"a","permissions":["x","y"],"rules":[${rule},${rule}]}]}`;
    const { text } = await render('table', page, viewOf(OPERATIONS.listApplications));
    expect(text).toBe(
      'ID  RULES                                             PERMISSIONS\na   1 /pci/ mask token:read; 1 /pci/ mask token:read  x, y\n',
    );
    expect((await render('table', PAGE, list)).text).toContain('b: 1.10, a: 9007199254740993, 10: 1e2, s: yes');
  });

  it('a table of a list shows as many values of a list as fit, and how many more there are; json shows all', async () => {
    const members = Array.from({ length: 50 }, (_, at) => `id-${at}`);
    const page = JSON.stringify({
      data: [
        { action: 1, members },
        { action: 2, members: ['x'.repeat(300), 'y'] },
      ],
    });
    const { text } = await render('table', page, RESULT_VIEWS.seedDryRun);
    const [, first = '', second = ''] = text.split('\n');
    expect(first).toMatch(/^1 +id-0, id-1, .*, id-15, … and 34 more$/);
    expect(second).toMatch(/^2 +x{300}, … and 1 more$/);
    expect((await render('json', page, RESULT_VIEWS.seedDryRun)).text).toBe(`${page}\n`);
  });

  it('a table of one object names each value by its --field path', async () => {
    const body =
      '{"rules":[{"description":"","priority":1,"permissions":["a","b"]}],"data":{"odd.name":{"x":{"y":{"z":1}}},"e":{}},"l":[]}';
    const { text } = await render('table', body, viewOf(OPERATIONS.getApplication));
    expect(text.split('\n')).toEqual([
      'rules[0]              priority: 1, permissions: [a, b]',
      'data["odd.name"].x.y  z: 1',
      'data.e                {}',
      'l                     []',
      '',
    ]);
  });

  it('a table has local times; every other format keeps the times of the API', async () => {
    const zone = process.env['TZ'];
    process.env['TZ'] = 'America/New_York';
    try {
      const body = '{"id":"tok-1","data":"2026-01-02T03:04:05.678+00:00","created_at":"2026-01-02T03:04:05.678+00:00"}';
      const { text } = await render('table', body);
      expect(text).toContain('created_at  2026-01-01 22:04:05 -05:00\n');
      expect(text).toContain('data        2026-01-02T03:04:05.678+00:00\n');
      expect((await render('table', `{"data":[${body}]}`, list)).text).toMatch(/ 2026-01-01 22:04\n$/);
      for (const format of ['json', 'csv', 'ndjson'] as const) {
        expect((await render(format, body)).text).toContain('2026-01-02T03:04:05.678+00:00');
      }
    } finally {
      if (zone === undefined) delete process.env['TZ'];
      else process.env['TZ'] = zone;
    }
  });

  it('a narrow table shows ids and times whole or hides the column, and names hidden columns', async () => {
    const id = '01a1f8b9-949d-7bcc-9ff7-989ef9b9621e';
    const page = `{"data":[{"id":"${id}","type":"token","data":"${'x'.repeat(80)}","containers":["/general/high/"],"created_at":"2026-01-02T03:04:05.678+00:00"}]}`;
    const wide = await render('table', page, list, { colour: false, width: 120 });
    expect(wide.text).toContain(id);
    expect(wide.text).toMatch(/\d{4}-\d\d-\d\d \d\d:\d\d\n$/);
    expect(wide.note).toBeUndefined();
    const narrow = await render('table', page, list, { colour: false, width: 80 });
    expect(narrow.text).toContain(id);
    expect(narrow.text).not.toContain('CREATED_AT');
    expect(narrow.note).toBe('hidden columns: created_at (choose with --columns)');
  });

  it('a table of one object wraps at the width of the terminal', async () => {
    const body = JSON.stringify({ id: 'tok-1', data: 'one two three four five six seven' });
    const { text } = await render('table', body, one, { colour: false, width: 20 });
    expect(text).toBe('id    tok-1\ndata  one two three\n      four five six\n      seven\n');
  });

  it('a table of one object keeps long names whole, on lines of their own when values need the width', async () => {
    const type = (name: string) => `"${name}":{"count":1,"last_created_at":"2026-11-20T13:20:12.000+00:00"}`;
    const body = `{"token_report":{"metrics_by_type":{${type('card')},${type('social_security_number')}},"included_monthly_active_tokens":1000,"monthly_active_tokens":2}}`;
    const view = viewOf(OPERATIONS.getUsageReport);
    const { text } = await render('table', body, view, { colour: false, width: 80 });
    expect(text).not.toContain('…');
    const name = 'token_report.metrics_by_type.social_security_number.last_created_at';
    expect(text).toMatch(new RegExp(`^${name}\n {10,}2026-11-20 \\S+ \\S+$`, 'm'));
    expect(text).toMatch(/^token_report\.included_monthly_active_tokens +1000$/m);
    for (const line of text.split('\n')) expect(displayWidth(line)).toBeLessThanOrEqual(80);
    const wide = (await render('table', body, view)).text;
    expect(wide).toMatch(new RegExp(`^${name}  2026-11-20`, 'm'));
    const bold = (await render('table', body, view, { colour: true, width: 80 })).text;
    expect(stripVTControlCharacters(bold)).toBe(text);
  });

  it('a table sends no control character to the terminal, and colours only on request', async () => {
    const evil = '{"id":"tok-1","data":"a\\u001b]0;x\\u0007b\\u009bc\\nforged\\u202e"}';
    const { text } = await render('table', evil);
    expect(text).toContain('data  a]0;xbc forged\n');
    expect((await render('table', `{"data":[${evil}]}`, list)).text).toBe('ID     DATA\ntok-1  a]0;xbc forged\n');
    expect((await render('table', TOKEN, one, { colour: true })).text).toContain('\u001b[1mid');
    const { text: page } = await render('table', '{"data":[{"id":"tok-1","data":"a"}]}', list, { colour: true });
    expect(page).toBe('\u001b[1mID\u001b[22m     \u001b[1mDATA\u001b[22m\ntok-1  a\n');
  });

  it.each([40, 60, 80, 200])('a table fits a terminal of %i columns', async (width) => {
    const long = PAGE.replace('"yes"', JSON.stringify('日本'.repeat(100)));
    const { text } = await render('table', long, list, { colour: false, width });
    const widths = text.split('\n').map(displayWidth);
    expect(Math.max(...widths)).toBeLessThanOrEqual(width);
  });

  it('the default is a table on a terminal and json elsewhere', () => {
    expect(chooseFormat(undefined, true)).toBe('table');
    expect(chooseFormat(undefined, false)).toBe('json');
    for (const format of FORMATS) expect(chooseFormat(format, true)).toBe(format);
    expect(() => chooseFormat('xml', true)).toThrow('table, json, csv, ndjson');
  });
});

describe('--quiet and --field', () => {
  it('rejects before the call a member that no result has', () => {
    expect(() => chooseShowing('json', 'kye', false, viewOf(OPERATIONS.createApplication))).toThrow('has no kye');
    expect(() => chooseShowing('json', 'id', false, list)).toThrow('has no id');
    expect(() => chooseShowing('json', 'id', true, one)).toThrow('only one of');
    expect(() => chooseShowing('json', 'id', false, viewOf(OPERATIONS.deleteToken))).toThrow('no result');
    expect(() => checkField(OPERATIONS.getToken.result, parsePath('data.anything[3]["x.y"]'))).not.toThrow();
    expect(() => checkField(OPERATIONS.getToken.result, parsePath('containers.first'))).toThrow(
      'has no containers.first',
    );
    expect(() => checkField(OPERATIONS.getToken.result, parsePath('constructor'))).toThrow('has no constructor');
  });

  it.each([
    [list, 'id', 'id', 'use data[0].id for the first item; with --all, use id for each item'],
    [
      list,
      'data.data.number',
      'data.data',
      'use data[0].data.number for the first item; with --all, use data.number for each item',
    ],
    [list, 'data.nope', 'data.nope', 'use data[0].id for the first item; with --all, use id for each item'],
    [list, 'dta', 'dta', 'did you mean data?'],
    [list, 'data[0].typ', 'data[0].typ', 'did you mean type?'],
    [RESULT_VIEWS.snapshotList, 'nme', 'nme', 'did you mean name?'],
    [RESULT_VIEWS.snapshotList, 'data.name', 'data.name', 'use data[0].name for the first item'],
    [one, 'zzzzzz.nope', 'zzzzzz', expect.stringContaining('known are id, type')],
  ])('suggests the path of a member of an item (%#)', (view, field, path, hint) => {
    const choose = () => chooseShowing('json', field, false, view);
    expect(choose).toThrow(expect.objectContaining({ message: `--field: the result has no ${path}`, hint }));
  });

  it.each(['', '.', '.a', 'a..b', 'a[', 'a[x]', 'a]', 'a."b"'])('rejects the path %j', (path) => {
    expect(() => parsePath(path)).toThrow('--field must be a path');
  });

  it('ids have no format, and flags beat the environment', () => {
    const make = (flags: object, env: Readonly<Record<string, string>> = {}) => createPrinter({ flags, env }, list);
    expect(() => make({ quiet: true, output: 'csv' })).toThrow('only one of --quiet and --output');
    expect(() => make({ quiet: true, field: 'data' })).toThrow('only one of --field and --quiet');
    expect(() => make({}, { VAULT_QUIET: '1', VAULT_FIELD: 'data' })).toThrow('only one of --field and --quiet');
    for (const [flags, env] of [
      [{ quiet: true }, { VAULT_OUTPUT: 'csv', VAULT_FIELD: 'data' }],
      [{ field: 'data' }, { VAULT_QUIET: '1', VAULT_OUTPUT: 'csv' }],
      [{ field: 'data', output: 'json' }, {}],
      [{ output: 'csv' }, { VAULT_QUIET: '1' }],
    ] as const) {
      expect(() => make(flags, env)).not.toThrow();
    }
  });

  it('finds only own members', () => {
    expect(selectField(parseJson('{"a":"text"}'), ['a', 'length'])).toBeUndefined();
    expect(selectField(parseJson('[1]'), ['length'])).toBeUndefined();
    expect(selectField(parseJson('{}'), ['constructor'])).toBeUndefined();
    expect(selectField(parseJson('{"n":1.10}'), ['n', 'lexeme'])).toBeUndefined();
  });
});

describe('control characters', () => {
  const nasty = fc.string({
    unit: fc.constantFrom('\u001b', '\u0000', '\u009b', '\u007f', '\r', '\n', '\t', '\u202e', '\u200f', 'a', '"'),
  });

  it('are removed from a line', () => {
    fc.assert(fc.property(nasty, (text) => !/[\p{Cc}\u200f\u202e]/u.test(stripControlCharacters(text))));
    fc.assert(fc.property(nasty, (text) => !/[\p{Cc}\u200f\u202e]/u.test(stripFromLines(text).replace(/[\t\n]/g, ''))));
  });

  it('are escaped in JSON, and the value is unchanged', () => {
    fc.assert(
      fc.property(nasty, (text) => {
        const escaped = escapeInJson(JSON.stringify(text));
        return JSON.parse(escaped) === text && !/[\p{Cc}\u200f\u202e]/u.test(escaped);
      }),
    );
  });
});

describe('widths', () => {
  it('are those of visible characters when text is cut or wrapped', () => {
    expect(cutToWidth('日本語', 5)).toBe('日本…');
    expect(cutToWidth('日本語', 4)).toBe('日…');
    expect(cutToWidth('日本語', 6)).toBe('日本語');
    expect(cutToWidth('a👩‍👩‍👧b', 3)).toBe('a…');
    expect(wrapToWidth('aa bb cc', 5)).toEqual(['aa bb', 'cc']);
    expect(wrapToWidth('aaaaaaa', 3)).toEqual(['aaa', 'aaa', 'a']);
    expect(wrapToWidth('a日b', 1)).toEqual(['a', '日', 'b']);
    expect(cutToWidth('日', 1)).toBe('…');
    expect(wrapToWidth('é'.repeat(200_000), 50)).toHaveLength(4000);
    const text = fc.string({ unit: fc.constantFrom('a', ' ', '日', 'e\u0301', '👩‍👩‍👧', '🇩🇪') });
    fc.assert(
      fc.property(text, fc.integer({ min: 2, max: 20 }), (one, width) => {
        expect(displayWidth(cutToWidth(one, width))).toBeLessThanOrEqual(width);
        const lines = wrapToWidth(one, width);
        for (const line of lines) expect(displayWidth(line)).toBeLessThanOrEqual(width);
        expect(lines.join('').replaceAll(' ', '')).toBe(one.replaceAll(' ', ''));
      }),
    );
  });

  it('shrink the widest column first, never below its minimum', () => {
    expect(fitWidths([36, 5, 60], 60, [8, 8, 8])).toEqual([27, 5, 28]);
    expect(fitWidths([36, 5, 60], 60, [8, 8, 50])).toEqual([8, 5, 50]);
    expect(fitWidths([10, 10], 30, [8, 8])).toEqual([10, 10]);
    const natural = fc.array(fc.integer({ min: 1, max: 500 }), { maxLength: 8 });
    fc.assert(
      fc.property(natural, fc.integer({ min: 0, max: 300 }), (wanted, available) => {
        const widths = fitWidths(wanted, available, Array(wanted.length).fill(8));
        const sum = (numbers: readonly number[]) => numbers.reduce((total, each) => total + each, 0);
        expect(sum(widths)).toBeLessThanOrEqual(Math.max(available, sum(wanted.map((each) => Math.min(each, 8)))));
        for (const [at, width] of widths.entries()) expect(width).toBeLessThanOrEqual(wanted[at] ?? 0);
      }),
    );
  });
});

describe('wantsColour', () => {
  it.each([
    [true, undefined, {}, true],
    [false, undefined, {}, false],
    [true, false, {}, false],
    [true, true, { NO_COLOR: '1' }, false],
    [true, true, { NO_COLOR: '' }, true],
    [true, true, { TERM: 'dumb' }, false],
  ])('terminal %s, flag %s, %j: %s', (terminal, typed, env, wanted) => {
    expect(wantsColour(terminal, typed, env)).toBe(wanted);
  });
});
