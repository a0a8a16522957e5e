import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { generateData } from '../../src/cli/commands/seed/generate-data.ts';
import { readSeedFile } from '../../src/cli/commands/seed/read-seed-file.ts';
import { createSeedDocument, loadSeed, type SeedDocument } from '../../src/cli/commands/seed/seed-document.ts';
import { GENERATED_KINDS, seedSchemaDocument } from '../../src/cli/commands/seed/seed-schema.ts';
import { parseSeed, seededRandom } from '../../src/cli/commands/seed/seeded-random.ts';
import { Fault } from '../../src/core/fault.ts';
import { stringifyJson } from '../../src/core/json/stringify.ts';
import { passesAba, passesLuhn } from '../../src/core/tokens/validate-data.ts';
import { temporaryFolder } from '../temporary-folder.ts';

async function read(text: string, env: Readonly<Record<string, string>> = {}, seed = 0): Promise<SeedDocument> {
  return createSeedDocument([await readSeedFile('s.yaml', text)], env, seed);
}

async function thrownBy(work: () => Promise<unknown>): Promise<Fault> {
  try {
    await work();
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
  throw new Error('it was not refused');
}

const bodies = (document: SeedDocument, apps: readonly (readonly [string, string])[] = []) =>
  document.tokens.map((token) => stringifyJson(token.body(new Map(apps))));

describe('a seed file', () => {
  it('may be YAML or JSON with the same meaning', async () => {
    const yaml = 'tokens:\n  one-1: { type: token, data: { a: [1, x, true, null] } }\n';
    const json = '{\n\t"tokens": {"one-1": {"type": "token", "data": {"a": [1, "x", true, null]}}}\n}\n';
    expect(bodies(await read(json))).toEqual(bodies(await read(yaml)));
    expect(bodies(await read(yaml))).toEqual(['{"id":"one-1","type":"token","data":{"a":[1,"x",true,null]}}']);
  });

  it('keeps all digits and the order of members', async () => {
    const text = 'tokens: { one: { type: token, data: { b: 1.10, 1: 9007199254740993, a: -0, "007": "007" } } }';
    expect(bodies(await read(text))).toEqual([
      '{"id":"one","type":"token","data":{"b":1.10,"1":9007199254740993,"a":-0,"007":"007"}}',
    ]);
  });

  it('accepts anchors with a limit on their expansion', async () => {
    const data = 'tokens:\n  one: { type: token, data: &d { x: 1 } }\n  two: { type: token, data: *d }';
    expect(bodies(await read(data))[1]).toBe('{"id":"two","type":"token","data":{"x":1}}');
    const laughs = Array.from(
      { length: 12 },
      (_, i) => `l${i + 1}: &l${i + 1} [${Array(9).fill(`*l${i}`).join(', ')}]`,
    );
    await expect(read(`l0: &l0 lol\n${laughs.join('\n')}`)).rejects.toThrow('too many values');
    await expect(read('a: &a [*a]')).rejects.toThrow('too many values or is nested too deeply');
  });

  it.each([
    ['one: { <<: *pin, data: y }', '{"id":"one","type":"token","data":"y","metadata":{"m":"x"}}'],
    ['one: { data: y, type: token, <<: *pin }', '{"id":"one","type":"token","data":"y","metadata":{"m":"x"}}'],
    ['one: { <<: [{ data: z }, *pin] }', '{"id":"one","type":"token","data":"z","metadata":{"m":"x"}}'],
    ['one: { type: token, data: { "<<": *base } }', '{"id":"one","type":"token","data":{"<<":{"metadata":{"m":"x"}}}}'],
    [
      'one: { <<: *pin, data: { a: !!str 1, b: ! 2 }, metadata: {} }',
      '{"id":"one","type":"token","data":{"a":"1","b":"2"},"metadata":{}}',
    ],
  ])('merges members and ignores x- members: %s', async (token, body) => {
    const extensions = 'x-base: &base { metadata: { m: x } }\nx-pin: &pin { <<: *base, type: token, data: x }\n';
    expect(bodies(await read(`${extensions}x-other: "\${env.NONE}"\ntokens: { ${token} }`))).toEqual([body]);
  });

  it('is named in the error when it is not UTF-8', async () => {
    const file = path.join(temporaryFolder(onTestFinished), 'latin1.yaml');
    writeFileSync(file, 'tokens: { one: { type: token, data: "\u00e9" } }', 'latin1');
    const fault = { code: 'invalid_data', message: `${file}: the text is not UTF-8` };
    await expect(loadSeed([file], {}, 0)).rejects.toMatchObject(fault);
  });

  it('names the expected format by the name of the file', async () => {
    const told = async (name: string) => (await readSeedFile(name, '{"tokens":{"one":{')).unreadable[0];
    expect(await told('s.json')).toMatch(/^\S+: not JSON: /);
    expect(await told('S.JSON')).toMatch(/^\S+: not JSON: /);
    expect(await told('s.yaml')).toMatch(/^\S+: not YAML: /);
    expect(await told('<stdin>')).toMatch(/^\S+: not YAML: /);
  });

  it.each([
    ['a: [1', /^s\.yaml:1: not YAML: /],
    ['seed: a\n---\nseed: b\n', /^s\.yaml:2: not YAML: multiple docs$/],
    ['tokens:\n  one:\n    data: 1\n    data: 4242424242424242\n', /^s\.yaml:4: not YAML: duplicate key$/],
    ['apps:\n  web: { permissions: [token:create] }\n', /^s\.yaml:2: apps\.web\.type: is required$/],
    ['apps: { e: { type: expiring } }', /^s\.yaml:1: apps\.e\.type: must be one of private, public, management$/],
    [
      'tenant:\n  settings:\n    deduplicate_tokens: true\n',
      /^s\.yaml:3: .*deduplicate_tokens: must be a string; must be the string "true" or "false"$/,
    ],
    ['tokens: { one: { data: x } }', /tokens\.one\.type: is required$/],
    ['tokens: { one: { generate: card, data: x } }', /only one of data and generate/],
    ['tokens: { one: { type: token, data: x, count: 2 } }', /count: works only with `generate`$/],
    ['tokens: { one: { generate: card, count: 10001 } }', /must be at most 10000$/],
    ['tokens: { one: { generate: card, type: bank } }', /must be card, the type of generated card tokens$/],
    ['tokens: { ab: { type: token, data: x } }', /the id needs at least 3 characters/],
    [
      'tokens: { 1a: { type: token, data: x } }',
      /tokens\.1a: is malformed or contains characters that are not allowed; an example: visa-1$/,
    ],
    ['tokens: { one: { type: token, data: x, id: "{{ data }}" } }', /id: is malformed/],
    [
      'tokens: { one: { type: token, data: x, id: two }, two: { type: token, data: x } }',
      /another token of the seed has the id two$/,
    ],
    ['tokens: { one: { type: token, data: x, metadata: { a: 1 } } }', /metadata\.a: must be a string/],
    ['tokens: []', /^s\.yaml:1: tokens: must be an object$/],
    [
      'tokens:\n  one:\n    type: token\n    data: x\n    metadata:\n      a.b: x\n      c.d: 1\n',
      /^s\.yaml:7: .*c\.d: must be/,
    ],
    [
      'tokens:\n one: { type: card, data: { number: "4242424242424242",\n  "007": 1 } }',
      /^s\.yaml:3: tokens\.one\.data\.007: /,
    ],
    [
      'tokens: { one: { type: token, data: 1, containers: [pci] } }',
      /containers\.0: is malformed .*; an example: \/pci\/high\/$/,
    ],
    ['[]', /^s\.yaml:1: must be an object$/],
    ['', /^s\.yaml:1: must be an object$/],
    ['tokens:\n  one: !secret x', /^s\.yaml:2: not YAML: unknown tag; quote a text that starts with !$/],
    ['tokens:\n  one: { type: token, data: !!binary aGk= }', /^s\.yaml:2: not YAML: unknown tag/],
    ['tokens:\n  one: !!set { x, y }', /^s\.yaml:2: not YAML: unknown tag/],
    ['tokens:\n  one: *none', /^s\.yaml:2: an alias has no anchor$/],
    ['tokens:\n  one:\n    <<: 4242424242424242', /^s\.yaml:3: a merge key \(<<\) needs an object$/],
    ['tokens: &t\n  <<: *t', /^s\.yaml:2: the file has too many values or is nested too deeply$/],
    ['x-t: &t\n  type: tokn\ntokens:\n  one: { <<: *t, data: 1 }', /^s\.yaml:2: tokens\.one\.type: must be one of/],
    [
      'x-t: &t\n  type: token\ntokens:\n  one:\n    type: tokn\n    <<: *t\n    data: 1',
      /^s\.yaml:5: tokens\.one\.type: must/,
    ],
    [
      'apps:\n  web: { type: public, permissions: [token:create] }\n  www: { type: public, name: web, permissions: [token:create] }',
      /^s\.yaml:3: apps\.www: another application of the seed has the name web$/,
    ],
    [
      'apps: { "seed": { name: "seed: default", type: private, permissions: [token:read] } }',
      /another application of the seed/,
    ],
  ])('%j is rejected with file, line and member', async (text, message) => {
    await expect(read(text)).rejects.toThrow(message);
    await expect(read(text)).rejects.not.toThrow(/4242424242424242/);
  });

  it('rejects one item in two files', async () => {
    const text = 'apps: { web: { type: public, permissions: [token:create] } }';
    const two = [await readSeedFile('a.yaml', text), await readSeedFile('b.yaml', text)];
    expect(() => createSeedDocument(two, {}, 0)).toThrow('b.yaml:1: apps.web: also appears in a.yaml');
    const named = [await readSeedFile('a.yaml', 'seed: a'), await readSeedFile('b.yaml', 'seed: b')];
    expect(() => createSeedDocument(named, {}, 0)).toThrow('b.yaml:1: seed: the files belong to different seeds: a, b');
  });

  it('reports all errors at once, in the order of the files', async () => {
    const a = await readSeedFile(
      'a.yaml',
      `apps:
  web: { type: public, permissions: [token:read] }
  desk:
    type: private
    rules: [{ description: d, priority: 1, transform: mask, permissions: [token:read] }]
tokens:
  visa:
    type: card
    metdata: {}
    data: { number: "4242424242424241", cvc: 1 }
  pin: { type: tokem, data: "\${env.NONE}" }
  bank: { generate: bank, type: card, data: x }
  ab:
    type: token
    data: 1
    mask: "{{ data | nofilter }}"
    fingerprint_expression: "{{ data"
    expires_at: never
`,
    );
    const b = await readSeedFile('b.yaml', `tokens:\n  visa: { type: token, data: "\${tokens.no.id}" }\n`);
    const fault = await thrownBy(async () => createSeedDocument([a, b], {}, 0));
    expect([fault.code, fault.message]).toEqual(['invalid_data', 'the seed has 15 errors']);
    expect(fault.details.map((line) => line.split(': ').slice(0, 2).join(': '))).toEqual([
      'a.yaml:2: apps.web.permissions.0',
      'a.yaml:5: apps.desk.rules.0.container',
      'a.yaml:9: tokens.visa.metdata',
      'a.yaml:10: tokens.visa.data.number',
      'a.yaml:10: tokens.visa.data.cvc',
      'a.yaml:11: tokens.pin.data',
      'a.yaml:11: tokens.pin.type',
      'a.yaml:12: tokens.bank.data',
      'a.yaml:12: tokens.bank.type',
      'a.yaml:13: tokens.ab',
      'a.yaml:16: tokens.ab.mask',
      'a.yaml:17: tokens.ab.fingerprint_expression',
      'a.yaml:18: tokens.ab.expires_at',
      'b.yaml:2: tokens.visa.data',
      'b.yaml:2: tokens.visa',
    ]);
    expect(fault.details.join()).not.toContain('4242');
  });

  it('reports twenty errors and the number of the others', async () => {
    const lines = Array.from({ length: 23 }, (_, at) => `  t-${at}: { type: token }\n`).join('');
    const text = await readSeedFile('s.yaml', `tokens:\n${lines}`);
    const { message, details } = await thrownBy(async () => createSeedDocument([text], {}, 0));
    expect([message, details.length, details[19], details[20]]).toEqual([
      'the seed has 23 errors',
      21,
      's.yaml:21: tokens.t-19.data: is required',
      '… and 3 more',
    ]);
  });

  it('that is not YAML causes no errors about references to it', async () => {
    const broken = await readSeedFile('a.yaml', 'tokens:\n  one: { type: token, data: x\nb: ]\n');
    const other = await readSeedFile('b.yaml', `tokens: { two: { type: token, data: "\${tokens.one.id}" } }`);
    const { message, details } = await thrownBy(async () => createSeedDocument([broken, other], {}, 0));
    expect([message, ...details].join()).toMatch(/a\.yaml:3: not YAML: /);
    expect([message, ...details].join()).not.toContain('b.yaml');
  });

  it('matches docs/seed.schema.json', () => {
    const file = new URL('../../docs/seed.schema.json', import.meta.url);
    const document = seedSchemaDocument();
    // `npm run format` wraps its lines afterwards.
    if (process.env['UPDATE_DOCS']) writeFileSync(file, `${JSON.stringify(document, null, 2)}\n`);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(document);
  });
});

describe('references', () => {
  const token = (data: string, more = '') => `tokens:\n  one: { type: token, data: ${JSON.stringify(data)}${more} }\n`;

  it.each([
    [`\${env.WHO}`, 'me'],
    [`<\${ env.WHO }> \${env.WHO}`, '<me> me'],
    [`$\${env.WHO} $5 {x}`, `\${env.WHO} $5 {x}`],
    [`\${tokens.one.id}`, 'one'],
    [`a\${apps.web.id}b`, 'aAPPb'],
  ])('%s is %s', async (data, expected) => {
    const document = await read(`apps: { web: { type: public, permissions: [token:create] } }\n${token(data)}`, {
      WHO: 'me',
    });
    expect(JSON.parse(bodies(document, [['web', 'APP']])[0] ?? '').data).toBe(expected);
  });

  it('reach the ids of other files and of the environment', async () => {
    const files = [
      await readSeedFile('a', `tokens: { one: { type: token, data: "\${tokens.two.id}" } }`),
      await readSeedFile('b', `tokens: { two: { type: token, data: x, id: "two-\${env.N}" } }`),
    ];
    expect(bodies(createSeedDocument(files, { N: '7' }, 0))).toEqual([
      '{"id":"one","type":"token","data":"two-7"}',
      '{"id":"two-7","type":"token","data":"x"}',
    ]);
  });

  it.each([
    [`\${env.NONE}`, 's.yaml:2: tokens.one.data: the environment variable NONE is not set'],
    [`\${env.constructor}`, 's.yaml:2: tokens.one.data: the environment variable constructor is not set'],
    [`\${apps.web.id}`, `tokens.one.data: \${apps.web.id} is unknown`],
    [`\${apps.web.key}`, `\${apps.web.key} is unknown`],
    [`\${tokens.two.id}`, `\${tokens.two.id} is unknown`],
    [`\${x}`, `\${x} is unknown`],
  ])('%s is rejected', async (data, message) => {
    await expect(read(token(data))).rejects.toThrow(message);
  });

  it('are recognized only in the text of the file', async () => {
    const data = '\uE000web\uE000 \0web\0';
    const text = `apps: { web: { type: public, permissions: [token:create] } }\n${token(data)}`;
    expect(JSON.parse(bodies(await read(text), [['web', 'APP']])[0] ?? '').data).toBe(data);
    // The value of a variable is not read as a reference.
    const env = { WHO: `$\{apps.web.id}` };
    expect(JSON.parse(bodies(await read(token(`$\{env.WHO}`), env))[0] ?? '').data).toBe(env.WHO);
  });

  it('of an application in an application, and of an id in itself, are rejected', async () => {
    const app = `apps: { web: { type: public, name: "\${apps.web.id}", permissions: [token:create] } }`;
    await expect(read(app)).rejects.toThrow('only tokens may use ${');
    await expect(read(token('x', `, id: "\${tokens.one.id}"`))).rejects.toThrow('cannot be part of an id');
    const inId = `apps: { web: { type: public, permissions: [token:create] } }\n${token('x', `, id: "$\{apps.web.id}"`)}`;
    await expect(read(inId)).rejects.toThrow('cannot be part of an id');
  });
});

describe('generated data', () => {
  const many = (kind: (typeof GENERATED_KINDS)[number], seed = 1) =>
    Array.from({ length: 500 }, (_, at) => JSON.parse(stringifyJson(generateData(kind, `${seed}/${at}`))));

  it('is the same on every machine', () => {
    const first = Object.fromEntries(GENERATED_KINDS.map((kind) => [kind, stringifyJson(generateData(kind, 'a'))]));
    expect(first).toMatchInlineSnapshot(`
      {
        "bank": "{"routing_number":"996842343","account_number":"000082428112"}",
        "card": "{"number":"378282248423483","expiration_month":11,"expiration_year":2094,"cvc":"2811"}",
        "person": "{"first_name":"Frances","last_name":"Example","email":"frances.example.42348@example.com","phone":"+1-202-555-0124","birth_date":"1952-01-12"}",
        "ssn": ""968-33-2348"",
      }
    `);
  });

  it.each(GENERATED_KINDS)('%s: differs by seed and hardly repeats', (kind) => {
    expect(many(kind, 2)).not.toEqual(many(kind, 1));
    expect(new Set(many(kind).map((one) => JSON.stringify(one))).size).toBeGreaterThan(495);
  });

  it('has valid checksums in ranges that nobody uses', () => {
    for (const { number, expiration_month, cvc } of many('card')) {
      expect(number).toMatch(/^(?:42424242|55555555)\d{8}$|^37828224\d{7}$/);
      expect(passesLuhn(number)).toBe(true);
      expect(expiration_month >= 1 && expiration_month <= 12).toBe(true);
      expect(cvc).toHaveLength(number.length === 15 ? 4 : 3);
    }
    for (const { routing_number, account_number } of many('bank')) {
      expect(routing_number).toMatch(/^99\d{7}$/);
      expect(passesAba(routing_number)).toBe(true);
      expect(account_number).toMatch(/^0000\d{8}$/);
    }
    for (const ssn of many('ssn')) expect(ssn).toMatch(/^9\d\d-(?:0[1-9]|[1-4]\d)-\d{4}$/);
    for (const { email, phone, birth_date } of many('person')) {
      expect(email).toMatch(/^[a-z]+\.[a-z]+\.\d{5}@example\.com$/);
      expect(phone).toMatch(/^\+1-202-555-01\d\d$/);
      expect(Number.isNaN(Date.parse(birth_date))).toBe(false);
    }
  });

  it('depends only on seed, item and number', async () => {
    const one = await read('tokens: { cards: { generate: card, count: 3 } }', {}, 7);
    const more = await read(
      'tokens: { a-b: { generate: bank, count: 2 }, cards: { generate: card, count: 5 } }',
      {},
      7,
    );
    expect(bodies(more).slice(2, 5)).toEqual(bodies(one));
    expect(one.tokens.map(({ id }) => id)).toEqual(['cards-1', 'cards-2', 'cards-3']);
    expect(bodies(await read('tokens: { cards: { generate: card, count: 3 } }', {}, 8))).not.toEqual(bodies(one));
  });
});

describe('--seed', () => {
  it.each(['-1', '1.5', 'x', '', '1e3', '9999999999999999'])('%j is not a valid seed', (text) => {
    expect(() => parseSeed(text)).toThrow('--seed must be a whole number from 0');
  });

  it('determines ids and bytes for a label; time-ordered ids come from the system', async () => {
    const system = { bytes: () => new Uint8Array([1]), id: () => 'system', timeOrderedId: () => 'time' };
    const random = seededRandom(7);
    const source = random.over(system);
    const take = () =>
      random.during('x', async () => [
        source.id(),
        Buffer.from(source.bytes(3)).toString('hex'),
        source.timeOrderedId(),
      ]);
    const first = await take();
    expect(await take()).toEqual(first);
    expect(first[0]).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(first[2]).toBe('time');
    expect(await random.during('y', async () => source.id())).not.toBe(first[0]);
    expect(seededRandom(8).at('x').id()).not.toBe(first[0]);
    expect(random.at('x').id()).toBe(first[0]);
    expect([source.id(), ...source.bytes(1)]).toEqual(['system', 1]);
    await expect(random.during('x', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(source.id()).toBe('system');
  });
});
