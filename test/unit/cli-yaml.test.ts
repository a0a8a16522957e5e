import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { renderYaml } from '../../src/cli/output/yaml.ts';
import { parseJson } from '../../src/core/json/parse.ts';

/** Strings that a parser of YAML 1.1 or 1.2 reads as a time, boolean, number, null or special key. */
const LOOK_ALIKES: readonly string[] = [
  ...['2026-11-20T13:20:12.000+00:00', '2026-11-20T13:20:12Z', '2026-11-20 13:20:12', '2026-11-20', '2026-1-2'],
  ...['yes', 'Yes', 'NO', 'no', 'on', 'Off', 'y', 'n', 'Y', 'N', 'true', 'False', 'null', 'Null', 'NULL', '~', ''],
  ...['0123', '0999', '0o17', '0x1F', '0b11', '1_000', '+1', '-0', '12', '0.0', '.5', '+.5', '5.', '1.5e3', '1.'],
  ...['1e3', '1E3', '1e+3', '12e03', '1:20', '-1:20', '190:20:30', '190:20:30.15', '10:00'],
  ...['.inf', '-.INF', '.nan', '.NaN', '<<', '='],
];

const textOf = async (value: unknown) => (await renderYaml(parseJson(JSON.stringify(value)))).text;

describe('a string that looks like another value', () => {
  it.each(LOOK_ALIKES)('%j is quoted, as a value and as a name', async (word) => {
    expect(await textOf({ a: word })).toBe(`a: ${JSON.stringify(word)}\n`);
    const name = await textOf({ [word]: 1 });
    expect(name).toBe(`${JSON.stringify(word)}: 1\n`);
    for (const version of ['1.1', '1.2'] as const) expect(parse(name, { version })).toEqual({ [word]: 1 });
  });

  it('is the same string to parsers of both versions', async () => {
    const text = await textOf(LOOK_ALIKES);
    for (const version of ['1.1', '1.2'] as const) expect(parse(text, { version })).toEqual(LOOK_ALIKES);
  });
});

describe('a value that looks like itself', () => {
  it.each(['plain', 'two words', 'yesterday', 'key_abc', '1.2.3', '4242-4242', '/pci/high/', 'nobody'])(
    '%s is not quoted',
    async (word) => {
      expect(await textOf({ a: word })).toBe(`a: ${word}\n`);
    },
  );

  it('numbers, booleans and null are unchanged', async () => {
    const { text } = await renderYaml(parseJson('{"a":1.10,"b":12345678901234567890,"c":true,"d":null,"e":1e3}'));
    expect(text).toBe('a: 1.10\nb: 12345678901234567890\nc: true\nd: null\ne: 1e3\n');
  });
});
