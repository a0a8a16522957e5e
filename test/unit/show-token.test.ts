import fc from 'fast-check';
import { expect, test } from 'vitest';
import { TOKEN_TYPE_NAMES } from '../../src/contract/token-types.ts';
import { JsonText, stringifyJson } from '../../src/core/json/stringify.ts';
import { showToken, tokenText } from '../../src/core/tokens/present-token.ts';

const optional = <T>(values: fc.Arbitrary<T>) => fc.option(values, { nil: undefined });
const instants = fc.integer({ min: 0, max: 4_000_000_000_000 });
const base58 = fc.stringMatching(/^[1-9A-HJ-NP-Za-km-z]{1,44}$/);

const ids = fc.record({ id: fc.string({ unit: 'binary' }), tenant_id: fc.uuid() });

const columns = fc.record({
  type: fc.constantFrom(...TOKEN_TYPE_NAMES),
  created_by: fc.uuid(),
  created_at: instants,
  modified_by: optional(fc.uuid()),
  modified_at: optional(instants),
  expires_at: optional(instants),
  revision: fc.constant(1),
  key_id: fc.constant(1),
  index_key_id: fc.constant(2),
});

const details = fc.record({
  containers: fc.array(fc.string({ unit: 'binary' })),
  metadata: optional(fc.constantFrom('{}', '{"a":"b"}').map((text) => new JsonText(text))),
  fingerprint: base58,
  expires_at: optional(fc.constantFrom('2030-01-31T00:00:00.000+01:00', '2030-01-31T00:00:00"')),
});

test('the text of a token has the members of its object in the same order', () => {
  const data = optional(fc.constantFrom('null', '{"number":"1"}'));
  fc.assert(
    fc.property(ids, columns, details, data, (record, clear, shown, text) => {
      const whole = showToken({ ...record, ...clear }, shown, text === undefined ? undefined : new JsonText(text));
      expect(tokenText(record, clear, shown, text).text).toBe(stringifyJson(whole));
    }),
  );
});
