import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EXAMPLES } from '../../src/contract/openapi/examples.generated.ts';
import { OPERATIONS, type Operation, type OperationId } from '../../src/contract/operations.ts';
import { PERMISSIONS } from '../../src/contract/permissions.ts';
import { PROBLEM_BODY } from '../../src/contract/problems.ts';
import { BODY_VALIDATORS } from '../../src/core/body-validators.generated.js';
import { MemberMap } from '../../src/core/json/kind.ts';
import { PROBLEM_VALIDATOR, RESULT_VALIDATORS } from '../../src/core/result-validators.generated.js';
import { VALIDATORS, type Validator } from '../../src/core/validators.generated.js';

const ID = '0190c2a5-6a2e-7b0e-8f5e-0c1f1b7d2a11';
const TIME = '2026-03-01T09:30:00.000+00:00';
const KEY = `key_${'2'.repeat(32)}`;
const RULE = { description: 'd', priority: 1, container: '/a/', transform: 'mask', permissions: ['token:read'] };
const CONDITION = { attribute: 'id', operator: 'equals', value: 'x' };
const TOKEN = { id: 'abc', tenant_id: ID, type: 'card' };

/** Wraps a number like the lossless parser does. */
class Lexeme {
  readonly lexeme: string;
  constructor(lexeme: string) {
    this.lexeme = lexeme;
  }
}

interface Samples {
  readonly good: readonly unknown[];
  /** Each rejected value with its keyword. */
  readonly bad: readonly (readonly [value: unknown, keyword: string])[];
}

type Part = 'params' | 'query' | 'body' | 'result';
type PartsOf<Id extends OperationId> = Part & keyof (typeof OPERATIONS)[Id];

const ENTITY_PARAMS: Samples = {
  good: [{ id: ID }, { id: ID.toUpperCase() }],
  bad: [
    [{}, 'required'],
    [{ id: 'x' }, 'pattern'],
    [{ id: `${ID}\n` }, 'pattern'],
    [{ id: ID, extra: '1' }, 'additionalProperties'],
    [null, 'type'],
  ],
};

const TOKEN_PARAMS: Samples = {
  good: [{ id: 'x' }, { id: '😀'.repeat(1024) }],
  bad: [
    [{}, 'required'],
    [{ id: '' }, 'minLength'],
    [{ id: 'x'.repeat(1025) }, 'maxLength'],
  ],
};

const PAGE_BAD: Samples['bad'] = [
  [{ page: 0 }, 'minimum'],
  [{ page: 1.5 }, 'type'],
  [{ page: new Lexeme('1.0') }, 'type'],
  [{ size: 101 }, 'maximum'],
  [{ size: '20' }, 'type'],
  [{ unknown: '1' }, 'additionalProperties'],
];

const TOKEN_RESULT: Samples = {
  good: [TOKEN, { ...TOKEN, data: null, mask: [1], containers: ['/pci/high/'], metadata: { a: '' }, expires_at: TIME }],
  bad: [
    [{ ...TOKEN, created_at: '2026-13-01T09:30:00.000+00:00' }, 'format'],
    [{ ...TOKEN, type: 'nothing' }, 'enum'],
    [{ id: 'abc', type: 'card' }, 'required'],
    [{ ...TOKEN, deduplicate_token: true }, 'additionalProperties'],
  ],
};

const pairs = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, '']));

const app = (more: object) => ({ name: 'n', type: 'private', ...more });
const ruled = (more: object) => app({ type: 'expiring', rules: [{ ...RULE, ...more }] });

/** Values beyond the examples of the rows. */
const SAMPLES: { readonly [Id in OperationId]?: { readonly [P in PartsOf<Id>]?: Samples } } = {
  createToken: {
    body: {
      good: [
        { type: 'token', data: null },
        { type: 'token', data: { a: [new Lexeme('1.10')] }, mask: { b: '{{ data }}' } },
        { type: 'card', data: new Lexeme('9007199254740993'), containers: ['/'], deduplicate_token: false },
        { type: 'token', data: 1, metadata: JSON.parse('{"__proto__":"x","constructor":"y"}') },
        { type: 'token', data: JSON.parse('{"__proto__":{"a":1}}') },
        { type: 'token', data: 1, metadata: { '😀': '\u{10ffff}' } },
        { type: 'token', data: 1, metadata: { ...pairs(49), ['k'.repeat(128)]: 'x'.repeat(1024) } },
        { type: 'token', data: 1, containers: [`/${'x'.repeat(253)}/`, ...Array(19).fill('/a/')] },
      ],
      bad: [
        [{ data: 1 }, 'required'],
        [{ type: 'token' }, 'required'],
        [{ type: 'nothing', data: 1 }, 'enum'],
        [{ type: ['token'], data: 1 }, 'enum'],
        [{ type: 'token', data: 1, id: '' }, 'minLength'],
        [{ type: 'token', data: 1, id: 1 }, 'type'],
        [{ type: 'token', data: 1, containers: [] }, 'minItems'],
        [{ type: 'token', data: 1, containers: Array(21).fill('/a/') }, 'maxItems'],
        [{ type: 'token', data: 1, containers: ['/a//b/'] }, 'pattern'],
        [{ type: 'token', data: 1, containers: ['/a'] }, 'pattern'],
        [{ type: 'token', data: 1, containers: ['a/'] }, 'pattern'],
        [{ type: 'token', data: 1, containers: ['/a b/'] }, 'pattern'],
        [{ type: 'token', data: 1, containers: [`/${'x'.repeat(254)}/`] }, 'maxLength'],
        [{ type: 'token', data: 1, containers: { 0: '/a/', length: 1 } }, 'type'],
        [{ type: 'token', data: 1, metadata: { a: 1 } }, 'type'],
        [{ type: 'token', data: 1, metadata: { '': 'a' } }, 'minLength'],
        [{ type: 'token', data: 1, metadata: pairs(51) }, 'maxProperties'],
        [{ type: 'token', data: 1, metadata: { ['k'.repeat(129)]: 'x' } }, 'maxLength'],
        [{ type: 'token', data: 1, metadata: { k: 'x'.repeat(1025) } }, 'maxLength'],
        [{ type: 'token', data: 1, metadata: { a: '\u0000' } }, 'pattern'],
        [{ type: 'token', data: 1, metadata: { a: '\ud800' } }, 'pattern'],
        [{ type: 'token', data: 1, metadata: new Lexeme('1.10') }, 'type'],
        [{ type: 'token', data: 1, metadata: JSON.parse('{"__proto__":1}') }, 'type'],
        [{ type: 'token', data: 1, deduplicate_token: 'true' }, 'type'],
        [{ type: 'token', data: 1, search_indexes: Array(11).fill('x') }, 'maxItems'],
        [{ type: 'token', data: 1, tenant_id: ID }, 'additionalProperties'],
        [JSON.parse('{"type":"token","data":1,"__proto__":{}}'), 'additionalProperties'],
        [JSON.parse('{"type":"token","data":1,"constructor":1}'), 'additionalProperties'],
        [JSON.parse('{"__proto__":{"type":"token","data":1}}'), 'required'],
        [new Lexeme('1.10'), 'type'],
        [[], 'type'],
        ['{}', 'type'],
      ],
    },
    result: TOKEN_RESULT,
  },
  listTokens: {
    query: {
      good: [
        {},
        { id: ['a', 'b'], type: ['card'], page: 1, size: 100 },
        { metadata: JSON.parse('{"__proto__":"a","toString":"b"}') },
      ],
      bad: [...PAGE_BAD, [{ id: 'a' }, 'type'], [{ type: ['nothing'] }, 'enum'], [{ metadata: { a: 1 } }, 'type']],
    },
  },
  getToken: { params: TOKEN_PARAMS },
  updateToken: {
    params: TOKEN_PARAMS,
    body: {
      good: [
        {},
        { data: null, mask: null, metadata: null, containers: null, search_indexes: null },
        { fingerprint_expression: null, deduplicate_token: null, expires_at: null },
        { metadata: { a: null, b: 'x' }, containers: ['/a/'], deduplicate_token: true, expires_at: '1/1/2030' },
        { data: new Lexeme('1.10'), mask: JSON.parse('{"__proto__":1}') },
        // The handlers compare read-only members, so their form does not matter here.
        { id: 'abc', type: 'card', tenant_id: 1, fingerprint: null, created_at: {}, modified_by: [] },
      ],
      bad: [
        [{ key_id: 'abc' }, 'additionalProperties'],
        [{ metadata: { a: 1 } }, 'type'],
        [{ metadata: [] }, 'type'],
        [{ containers: [] }, 'minItems'],
        [{ containers: ['a'] }, 'pattern'],
        [{ deduplicate_token: 'true' }, 'type'],
        [{ fingerprint_expression: '' }, 'minLength'],
        [null, 'type'],
      ],
    },
  },
  deleteToken: { params: TOKEN_PARAMS },
  searchTokens: {
    body: {
      good: [{ query: 'x'.repeat(1000) }, { query: 'id:x', size: 1, transform: 'mask' }],
      bad: [
        [{ query: 'x'.repeat(1001) }, 'maxLength'],
        [{ query: '' }, 'minLength'],
        [{ query: 'id:x', transform: 'reveal' }, 'enum'],
      ],
    },
  },
  createApplication: {
    body: {
      good: [
        { name: 'n', type: 'management' },
        app({ permissions: ['token:read'], rules: [RULE], can_create_expiring_applications: true }),
        app({ type: 'public', permissions: [] }),
        app({ rules: [...Array(49).fill(RULE), { ...RULE, description: 'x'.repeat(1000) }] }),
        ruled({ conditions: Array(10).fill(CONDITION), transform: 'reveal' }),
        ruled({ description: '', priority: 2_147_483_647, permissions: Object.keys(PERMISSIONS) }),
        app({ name: '😀'.repeat(200), type: 'expiring', expires_at: TIME }),
      ],
      bad: [
        [{ type: 'private' }, 'required'],
        [{ name: 'n', permissions: ['token:read'] }, 'required'],
        [app({ name: '' }), 'minLength'],
        [app({ name: 'x'.repeat(201) }), 'maxLength'],
        [app({ name: 'a\u0007' }), 'pattern'],
        [app({ type: 'other' }), 'enum'],
        [app({ permissions: ['token:read', 'token:read'] }), 'uniqueItems'],
        [app({ permissions: ['token:fly'] }), 'enum'],
        [app({ permissions: [{}, {}] }), 'enum'],
        [app({ permissions: 'token:read' }), 'type'],
        [app({ permissions: Array(51).fill('token:read') }), 'maxItems'],
        [app({ tenant_id: ID }), 'additionalProperties'],
        [app({ key: KEY }), 'additionalProperties'],
        [app({ rules: Array(51).fill(RULE) }), 'maxItems'],
        [app({ rules: [new Lexeme('1.10')] }), 'type'],
        [ruled({ description: 'x'.repeat(1001) }), 'maxLength'],
        [ruled({ transform: undefined }), 'required'],
        [ruled({ transform: 'show' }), 'enum'],
        [ruled({ priority: 0 }), 'minimum'],
        [ruled({ permissions: [] }), 'minItems'],
        [ruled({ conditions: [] }), 'minItems'],
        [ruled({ conditions: Array(11).fill(CONDITION) }), 'maxItems'],
        [ruled({ conditions: [{ ...CONDITION, attribute: 'type' }] }), 'enum'],
        [ruled({ conditions: [{ ...CONDITION, operator: 'like' }] }), 'enum'],
      ],
    },
  },
  listApplications: {
    query: {
      good: [{}, { id: [ID], size: 1 }, { type: ['private', 'expiring'] }],
      bad: [...PAGE_BAD, [{ id: ['x'] }, 'pattern'], [{ type: ['card'] }, 'enum']],
    },
  },
  getApplication: { params: ENTITY_PARAMS },
  updateApplication: {
    params: ENTITY_PARAMS,
    body: {
      good: [
        { name: 'n' },
        { name: 'n', permissions: ['token:read'], rules: [RULE], can_create_expiring_applications: true },
        { name: 'n', id: ID, permissions: [], rules: [RULE] },
        { name: 'n', type: 1, expires_at: TIME, expiring_applications: 'x' },
      ],
      bad: [
        [{}, 'required'],
        [{ name: 'n', key: 'key_x' }, 'additionalProperties'],
      ],
    },
  },
  deleteApplication: { params: ENTITY_PARAMS },
  updateTenant: {
    body: {
      good: [
        { name: 'x'.repeat(200) },
        { name: 'n', settings: {} },
        { name: 'n', settings: { deduplicate_tokens: 'false' } },
        { name: 'n', owner_id: 1 },
      ],
      bad: [
        [{ settings: {} }, 'required'],
        [{ name: '' }, 'minLength'],
        [{ name: 'x'.repeat(201) }, 'maxLength'],
        [{ name: 'n', settings: { deduplicate_tokens: 'yes' } }, 'enum'],
        [{ name: 'n', settings: { deduplicate_tokens: true } }, 'enum'],
        [{ name: 'n', settings: { other: 'true' } }, 'additionalProperties'],
        [{ name: 'n', owner: ID }, 'additionalProperties'],
      ],
    },
  },
};

/** Converts objects to those of the parser, which inherit nothing. */
function bare(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(bare);
  if (typeof value !== 'object' || value === null || value instanceof Lexeme) return value;
  const copy = new MemberMap();
  for (const [name, member] of Object.entries(value)) Reflect.set(copy, name, bare(member));
  return copy;
}

function validatorOf(id: OperationId, part: Part): Validator {
  const validator = { ...VALIDATORS[id], body: BODY_VALIDATORS[id], result: RESULT_VALIDATORS[id] }[part];
  if (validator === undefined) throw new Error(`${id} has no validator for its ${part}`);
  return validator;
}

const keywordsOf = (validator: Validator): readonly string[] => (validator.errors ?? []).map(({ keyword }) => keyword);

const PARTS = Object.entries<{ readonly [P in Part]?: Samples }>(SAMPLES).flatMap(([id, parts]) =>
  Object.entries(parts).map(([part, samples]) => ({ id: id as OperationId, part: part as Part, samples })),
);

describe.each(PARTS)('$part of $id', ({ id, part, samples }) => {
  const validator = validatorOf(id, part);

  it.each(samples.good)('accepts %j', (value) => {
    expect(validator(bare(value)), JSON.stringify(validator.errors)).toBe(true);
    expect(validator.errors).toBeNull();
    expect(validator(value)).toBe(true);
  });

  it.each(samples.bad)('rejects %j by %s', (value, keyword) => {
    expect(validator(bare(value))).toBe(false);
    expect(keywordsOf(validator)).toContain(keyword);
    expect(validator(value)).toBe(false);
  });

  it('does not change the value', () => {
    for (const value of samples.good) {
      const given = bare(value);
      validator(given);
      expect(given).toStrictEqual(bare(value));
    }
  });
});

const EXAMPLE_PARTS = Object.entries<Operation>(OPERATIONS).flatMap(([id, row]) =>
  Object.values(EXAMPLES[id as OperationId]).flatMap(({ params, query, body, result }) =>
    Object.entries({ params, query, body, result })
      .filter(([part, value]) => value !== undefined && row[part as Part]?.properties !== undefined)
      .map(([part, value]) => ({ id: id as OperationId, part: part as Part, value })),
  ),
);

describe.each(EXAMPLE_PARTS)('the example of $part of $id', ({ id, part, value }) => {
  it('is accepted, but rejected with an unknown member', () => {
    const validator = validatorOf(id, part);
    expect(validator(bare(value)), JSON.stringify(validator.errors)).toBe(true);
    const [item, wrap] = Array.isArray(value) ? [value[0], (one: object) => [one]] : [value, (one: object) => one];
    expect(validator(bare(wrap({ ...Object(item), no_such_member: '1' })))).toBe(false);
    expect(keywordsOf(validator)).toContain('additionalProperties');
  });
});

describe('the generated tables', () => {
  it('have exactly one validator for each schema of the contract', () => {
    const rows: readonly [string, Operation][] = Object.entries<Operation>(OPERATIONS);
    const expected = rows.map(([id, row]) => [id, ['params', 'query'].filter((part) => Object.hasOwn(row, part))]);
    expect(Object.entries(VALIDATORS).map(([id, parts]) => [id, Object.keys(parts)])).toEqual(expected);
    expect(Object.keys(BODY_VALIDATORS)).toEqual(rows.filter(([, row]) => row.body).map(([id]) => id));
    expect(Object.keys(RESULT_VALIDATORS)).toEqual(rows.filter(([, row]) => row.result).map(([id]) => id));
  });

  it('have no inherited members', () => {
    expect(Reflect.get(VALIDATORS, 'constructor')).toBeUndefined();
    expect(Reflect.get(VALIDATORS.createToken, 'constructor')).toBeUndefined();
    expect(Reflect.get(BODY_VALIDATORS, 'toString')).toBeUndefined();
    expect(Reflect.get(RESULT_VALIDATORS, 'toString')).toBeUndefined();
  });
});

describe('errors', () => {
  const create = validatorOf('createToken', 'body');

  it('name the member and quote no value', () => {
    expect(create(bare({ type: 'token', data: 1, metadata: { 'a/b~c': 4242424242424242 } }))).toBe(false);
    expect(create.errors).toEqual([
      {
        instancePath: '/metadata/a~1b~0c',
        keyword: 'type',
        params: { type: 'string' },
        schemaPath: expect.any(String),
      },
    ]);
    expect(JSON.stringify(create.errors)).not.toContain('4242');
  });

  it('are complete, also for all items of an array', () => {
    expect(create(bare({ id: 1, containers: ['/a/', 'b', '/c'] }))).toBe(false);
    expect(create.errors?.map(({ instancePath }) => instancePath).sort()).toEqual([
      '',
      '',
      '/containers/1',
      '/containers/2',
      '/id',
    ]);
  });

  it('are at most a hundred, and validation takes linear time', () => {
    const application = validatorOf('createApplication', 'body');
    const many = Array.from({ length: 200_000 }, (_, index) => index);
    // Measure processor time, which other load on the machine does not affect.
    const started = process.cpuUsage();
    expect(application(bare({ name: 'n', type: 'private', permissions: many }))).toBe(false);
    expect(application.errors).toHaveLength(100);
    expect(create({ type: 'token', data: 1, ...Object.fromEntries(many.map((index) => [`x${index}`, 1])) })).toBe(
      false,
    );
    expect(create.errors).toHaveLength(100);
    // In microseconds; comparing each item with each takes far longer.
    expect(process.cpuUsage(started).user).toBeLessThan(4_000_000);
  });
});

describe('random JSON', () => {
  const nested = fc.jsonValue().map(bare);

  it.each(PARTS)('never makes $part of $id throw', ({ id, part, samples }) => {
    const validator = validatorOf(id, part);
    const names = [...new Set(samples.good.flatMap((value) => Object.keys(Object(value)))), '__proto__', 'constructor'];
    const objects = fc.dictionary(fc.constantFrom(...names), nested, { noNullPrototype: false }).map(bare);
    fc.assert(
      fc.property(fc.oneof(nested, objects), (value) => {
        const accepted = validator(value);
        expect(accepted).toBe(validator.errors === null);
      }),
      { numRuns: 200 },
    );
  });
});

describe('the problem body', () => {
  const PROBLEM = { type: 'urn:token-vault:problem:x_y', title: 't', status: 400, detail: 'd', instance: 'i' };

  it.each([PROBLEM, { ...PROBLEM, errors: { 'rules.0.container': ['m'] } }])('accepts %j', (value) => {
    expect(PROBLEM_VALIDATOR(bare(value))).toBe(true);
  });

  it.each([
    [{ ...PROBLEM, status: 200 }, 'minimum'],
    [{ ...PROBLEM, type: 'about:blank' }, 'pattern'],
    [{ ...PROBLEM, stack: '' }, 'additionalProperties'],
    [{ ...PROBLEM, errors: { a: 'm' } }, 'type'],
    [{ title: 't' }, 'required'],
  ] as const)('rejects %j by %s', (value, keyword) => {
    expect(PROBLEM_VALIDATOR(bare(value))).toBe(false);
    expect(keywordsOf(PROBLEM_VALIDATOR)).toContain(keyword);
  });

  it.each(PROBLEM_BODY.required)('requires %s', (name) => {
    const { [name]: _left, ...others } = PROBLEM;
    expect(PROBLEM_VALIDATOR(bare(others))).toBe(false);
    expect(PROBLEM_VALIDATOR.errors?.map(({ params }) => params)).toEqual([{ missingProperty: name }]);
  });
});
