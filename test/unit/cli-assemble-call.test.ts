import { writeFileSync } from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { assembleCall } from '../../src/cli/derive/assemble-call.ts';
import { createTextReader } from '../../src/cli/files/text-reader.ts';
import type { OperationId } from '../../src/contract/operations.ts';
import { Fault } from '../../src/core/fault.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const folder = temporaryFolder();

function reader(stdin = '') {
  return createTextReader(async function* () {
    yield stdin;
  });
}

function file(name: string, content: string | Uint8Array): string {
  writeFileSync(path.join(folder, name), content);
  return `@${path.join(folder, name)}`;
}

async function bodyOf(
  members: Readonly<Record<string, readonly string[]>>,
  stdin?: string,
): Promise<string | undefined> {
  const required = { type: ['token'], ...(members['text'] === undefined && { data: ['1'] }) };
  const call = await assembleCall(
    'createToken',
    { arguments: [], members: { ...required, ...members } },
    reader(stdin),
  );
  return call.bodyText;
}

async function refusal(
  members: Readonly<Record<string, readonly string[]>>,
  rest: {
    readonly id?: OperationId;
    readonly body?: string;
    readonly arguments?: readonly string[];
    readonly clear?: readonly string[];
    readonly code?: 'usage' | 'invalid_request';
  } = {},
): Promise<Fault> {
  const input = { arguments: rest.arguments ?? [], members, body: rest.body, clear: rest.clear };
  const error: unknown = await assembleCall(rest.id ?? 'createToken', input, reader('1')).catch(
    (thrown: unknown) => thrown,
  );
  if (error instanceof Fault && error.code === (rest.code ?? 'usage')) return error;
  throw new Error('it was not refused');
}

describe('a body from flags', () => {
  it('has the media type of the row, and its members in the order of the schema', async () => {
    const members = { data: ['{"a":1}'], type: ['token'], id: ['my-id'] };
    expect(await assembleCall('createToken', { arguments: [], members }, reader())).toEqual({
      operation: 'createToken',
      params: {},
      query: [],
      mediaType: 'application/json',
      bodyText: '{"id":"my-id","type":"token","data":{"a":1}}',
    });
  });

  it('keeps every JSON value as written', async () => {
    const written = '{"b":1.10,"a":9007199254740993,"10":1e2,"__proto__":[],"2":"\\ud800"}';
    expect(await bodyOf({ data: [`\n ${written} `] })).toBe(`{"type":"token","data":${written}}`);
  });

  it('carries any JSON value through --data unchanged', async () => {
    await fc.assert(
      fc.asyncProperty(fc.json(), async (json) => {
        expect(await bodyOf({ data: [json] })).toBe(`{"type":"token","data":${json.trim()}}`);
      }),
    );
  });

  it('accepts any string in --text except - and @FILE', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary' }), async (text) => {
        fc.pre(text !== '-' && !text.startsWith('@'));
        expect(JSON.parse((await bodyOf({ text: [text] })) ?? '')).toEqual({ type: 'token', data: text });
      }),
    );
  });

  it.each([
    ['one line loses its line end', 'secret\n', 'secret'],
    ['also a Windows line end', 'secret\r\n', 'secret'],
    ['several lines keep their line ends', 'two\nlines\n', 'two\nlines\n'],
    ['an unfinished line is unchanged', 'secret', 'secret'],
    ['a byte order mark is removed', '\ufeffsecret', 'secret'],
  ])('reads --text from a file and from standard input: %s', async (_what, content, data) => {
    expect(JSON.parse((await bodyOf({ text: [file('text', content)] })) ?? '')).toMatchObject({ data });
    expect(JSON.parse((await bodyOf({ text: ['-'] }, content)) ?? '')).toMatchObject({ data });
  });

  it('keeps a trailing line break in typed text', async () => {
    expect(await bodyOf({ text: ['a\n'] })).toBe('{"type":"token","data":"a\\n"}');
  });

  it('builds arrays, maps and booleans from flags', async () => {
    const members = { container: ['/a/', '/b/'], metadata: ['k=v', 'e=', 'x=a=b'], 'deduplicate-token': ['true'] };
    expect(await bodyOf(members)).toBe(
      '{"type":"token","data":1,"containers":["/a/","/b/"],"metadata":{"k":"v","e":"","x":"a=b"},"deduplicate_token":true}',
    );
  });

  it('builds an array from the JSON of repeated flags', async () => {
    const members = { name: ['n'], type: ['public'], rule: ['{"priority":1}', '{"priority":2.0}'] };
    const call = await assembleCall('createApplication', { arguments: [], members }, reader());
    expect(call.bodyText).toBe('{"name":"n","type":"public","rules":[{"priority":1},{"priority":2.0}]}');
  });

  it('accepts an expression as a mask without quotes, and JSON with them', async () => {
    expect(await bodyOf({ mask: ['{{ data | reveal_last: 4 }}'] })).toContain('"mask":"{{ data | reveal_last: 4 }}"');
    expect(await bodyOf({ mask: ['{"a":"{{ data.a }}"}'] })).toContain('"mask":{"a":"{{ data.a }}"}');
  });

  it.each<[string, Readonly<Record<string, readonly string[]>>, RegExp, string?]>([
    ['invalid JSON', { type: ['token'], data: ['{"pan":4242,}'] }, /^--data is not JSON: .* at character 13$/, 'data'],
    ['half an expression as data', { type: ['token'], data: ['{{ 4242 }}'] }, /^--data is not JSON/, 'data'],
    [
      'an invalid boolean',
      { type: ['token'], data: ['1'], 'deduplicate-token': ['4242'] },
      /^--deduplicate-token/,
      'deduplicate_token',
    ],
    [
      'a pair without a name',
      { type: ['token'], data: ['1'], metadata: ['=4242'] },
      /^--metadata must be name=value$/,
      'metadata',
    ],
    ['the same name twice', { type: ['token'], data: ['1'], metadata: ['a=4242', 'a=2'] }, /^--metadata/, 'metadata'],
    [
      'a file that is not there',
      { type: ['token'], text: ['@4242'] },
      /^--text: the file after @ cannot be read \(ENOENT\)$/,
    ],
    ['standard input twice', { type: ['token'], data: ['-'], mask: ['-'] }, /^--data and --mask/],
    ['data twice', { type: ['token'], data: ['1'], text: ['4242'] }, /^only one of --data or --text/],
    ['a missing member', { type: ['token'] }, /^--data or --text must be given$/],
    ['two missing members', {}, /^--type and --data or --text must be given$/],
  ])('rejects %s, naming the flag and quoting no value', async (_what, members, message, path) => {
    const {
      message: told,
      hint = '',
      errors = {},
    } = await refusal(members, { code: path === undefined ? 'usage' : 'invalid_request' });
    expect(Object.keys(errors)).toEqual(path === undefined ? [] : [path]);
    expect(told).toMatch(message);
    expect(`${told} ${hint}`).not.toContain('4242');
  });

  it.each(['', '\n', '\r\n'])('rejects --text from standard input that holds only %j', async (stdin) => {
    await expect(bodyOf({ text: ['-'] }, stdin)).rejects.toMatchObject({
      code: 'usage',
      message: '--text: standard input is empty',
      hint: "--text '' stores an empty text",
    });
    expect(await bodyOf({ text: [''] })).toBe('{"type":"token","data":""}');
  });

  it('rejects text that is not UTF-8', async () => {
    const { message } = await refusal({ type: ['token'], text: [file('latin', new Uint8Array([0xe9]))] });
    expect(message).toBe('--text: the text is not UTF-8');
  });

  it('suggests --text for plain text in --data', async () => {
    const { hint } = await refusal({ type: ['token'], data: ['hello'] }, { code: 'invalid_request' });
    expect(hint).toContain('--text');
  });
});

describe('--clear', () => {
  async function patchOf(clear: readonly string[], members: Readonly<Record<string, readonly string[]>> = {}) {
    return (await assembleCall('updateToken', { arguments: ['tok'], members, clear }, reader())).bodyText;
  }

  it('sends null for a member or its flag, in the order of the schema', async () => {
    expect(await patchOf(['expires-at', 'mask'])).toBe('{"mask":null,"expires_at":null}');
    expect(await patchOf(['expires_at', 'container', 'search_indexes', 'search-index'].slice(0, 3))).toBe(
      '{"containers":null,"search_indexes":null,"expires_at":null}',
    );
    expect(await patchOf(['search-index'])).toBe('{"search_indexes":null}');
  });

  it('removes metadata pairs while --metadata sets others', async () => {
    expect(await patchOf(['metadata.a.b', 'metadata.c'], { metadata: ['d=1'] })).toBe(
      '{"metadata":{"a.b":null,"c":null,"d":"1"}}',
    );
    expect(await patchOf(['metadata'])).toBe('{"metadata":null}');
  });

  it('combines with other members', async () => {
    expect(await patchOf(['expires-at'], { container: ['/a/'], metadata: ['k=v'] })).toBe(
      '{"metadata":{"k":"v"},"containers":["/a/"],"expires_at":null}',
    );
  });

  it.each([
    ['an unknown member', ['metdata'], {}, '--clear: unknown member metdata', 'did you mean metadata?'],
    ['a part of data', ['data.cvc'], {}, '--clear cannot name a part of data', `--data '{"cvc":null}'`],
    ['a part of a list', ['container.0'], {}, '--clear cannot name a part of containers', '--clear container'],
    ['a pair without a name', ['metadata.'], {}, '--clear cannot name a part of metadata', ''],
    [
      'a member that is set',
      ['expires-at'],
      { 'expires-at': ['1/1/2030'] },
      'only one of --expires-at and --clear',
      '',
    ],
    ['a pair that is set', ['metadata.a'], { metadata: ['a=1'] }, '--metadata and --clear name the same member', ''],
    ['a member and its pair', ['metadata', 'metadata.a'], {}, '--clear metadata already clears all of it', ''],
    ['a pair and its member', ['metadata.a', 'metadata'], {}, '--clear metadata already clears all of it', ''],
  ])('rejects %s', async (_what, clear, members, message, hint) => {
    const told = await refusal(members, { id: 'updateToken', arguments: ['tok'], clear });
    expect(told.message).toContain(message);
    expect(told.hint ?? '').toContain(hint);
  });

  it('excludes --body', async () => {
    const told = await refusal({}, { id: 'updateToken', arguments: ['tok'], clear: ['mask'], body: '-' });
    expect(told.message).toContain('--clear');
  });
});

describe('rules', () => {
  async function rulesOf(...rule: readonly string[]) {
    const members = { name: ['n'], type: ['private'], rule };
    const { bodyText } = await assembleCall(
      'createApplication',
      { arguments: [], members },
      reader('transform=redact permissions=token:read'),
    );
    return /"rules":(.*)}$/.exec(bodyText ?? '')?.[1];
  }
  const words = (transform: string, priority: number) =>
    `{"description":"","priority":${priority},"transform":"${transform}","permissions":["token:read"]}`;

  it('may mix JSON, words, files with one or several rules, and standard input', async () => {
    const several = file('rules.json', '[ {"priority":1.0}, {"priority":2} ]\n');
    const none = file('none.json', '[]');
    const rules = await rulesOf('{"priority":9}', several, 'transform=mask permissions=token:read', none, '-');
    expect(rules).toBe(`[{"priority":9},{"priority":1.0}, {"priority":2},${words('mask', 4)},${words('redact', 5)}]`);
  });

  it('name the flag when they are neither JSON nor words', async () => {
    const members = { name: ['n'], type: ['private'], rule: ['{"a":}'] };
    const told = await refusal(members, { id: 'createApplication', code: 'invalid_request' });
    expect(told.message).toMatch(/^--rule is not JSON: .* at character 6$/);
  });
});

describe('--body', () => {
  it('is sent unchanged, even when it is malformed', async () => {
    const input = { arguments: [], members: {}, body: '-' };
    expect((await assembleCall('createToken', input, reader('{"a":1.0 ,'))).bodyText).toBe('{"a":1.0 ,');
    const fromFile = { arguments: [], members: {}, body: file('body.json', '{}\n') };
    expect((await assembleCall('createToken', fromFile, reader())).bodyText).toBe('{}\n');
  });

  it('excludes member flags', async () => {
    expect((await refusal({ type: ['card'] }, { body: '-' })).message).toContain('--type');
  });

  it('rejects a literal, which would put a secret on the command line', async () => {
    expect((await refusal({}, { body: '{"data":4242}' })).message).toBe(
      '--body must be @file, or - for standard input',
    );
  });
});

describe('the path and the query', () => {
  it('come from arguments and flags in the order of the schema', async () => {
    const members = { id: ['a', 'b'], metadata: ['k=v', 'k.l=w'], size: ['5'] };
    expect(await assembleCall('listTokens', { arguments: [], members }, reader())).toEqual({
      operation: 'listTokens',
      params: {},
      query: [
        ['id', 'a'],
        ['id', 'b'],
        ['metadata.k', 'v'],
        ['metadata.k.l', 'w'],
        ['size', '5'],
      ],
    });
    const get = await assembleCall('getToken', { arguments: ['a/b'], members: {} }, reader());
    expect(get).toEqual({ operation: 'getToken', params: { id: 'a/b' }, query: [] });
  });

  it('reject an empty id, which would be the list over HTTP', async () => {
    expect((await refusal({}, { id: 'getToken', arguments: [''] })).message).toBe('<id> must not be empty');
  });

  it('reject an id that would be another operation over HTTP', async () => {
    expect((await refusal({}, { id: 'getApplication', arguments: ['key'] })).hint).toContain('vault apps whoami');
    const call = await assembleCall('getToken', { arguments: ['key'], members: {} }, reader());
    expect(call.params).toEqual({ id: 'key' });
  });
});
