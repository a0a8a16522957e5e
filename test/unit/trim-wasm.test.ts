import { describe, expect, it } from 'vitest';
import { trimWasm } from '../../scripts/trim-wasm.js';

interface Table {
  get(index: number): (value?: number) => unknown;
}

/** The part of it that is used here; the types of Node have none. */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: Readonly<Record<string, unknown>> };
  readonly RuntimeError: ErrorConstructor;
};

const I32 = 0x7f;
const I64 = 0x7e;

const section = (id: number, ...items: readonly (readonly number[])[]) => {
  const content = [items.length, ...items.flat()];
  return [id, content.length, ...content];
};
const named = (name: string, ...rest: readonly number[]) => [name.length, ...Buffer.from(name), ...rest];
const body = (...instructions: readonly number[]) => [instructions.length + 2, 0, ...instructions, 0x0b];

/**
 * Two exports. `kept` calls number 1, which calls what stands first in the table; `dropped` calls number 4. What is first
 * in the table has the type of that call under another number; what is second has a type that no call names.
 */
function moduleOf(...ofNumber4: readonly number[]): Uint8Array {
  return Uint8Array.from([
    ...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, [0x60, 0, 1, I32], [0x60, 1, I32, 1, I32], [0x60, 0, 1, I64], [0x60, 1, I32, 1, I32]),
    ...section(3, [0], [0], [3], [2], [0], [0]),
    ...section(4, [0x70, 0, 2]),
    ...section(7, named('kept', 0, 0), named('dropped', 0, 5), named('table', 1, 0)),
    ...section(9, [0, 0x41, 0, 0x0b, 2, 2, 3]),
    ...section(
      10,
      body(0x10, 1),
      body(0x41, 40, 0x41, 0, 0x11, 1, 0),
      body(0x20, 0, 0x41, 2, 0x6a),
      body(0x42, 7),
      body(...ofNumber4),
      body(0x10, 4),
    ),
  ]);
}

const module = moduleOf(0x41, 5);

function exportsOf(bytes: Uint8Array) {
  const found = new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports;
  const call = (name: string): unknown => {
    const exported = found[name];
    if (typeof exported !== 'function') throw new Error(`${name} is no function`);
    return exported();
  };
  return { names: Object.keys(found), call, table: found['table'] as Table };
}

describe('trimmed WebAssembly', () => {
  it('answers as before from what is kept', () => {
    const { names, call, table } = exportsOf(trimWasm(module, (name: string) => name === 'dropped'));
    expect(names).toEqual(['kept', 'table']);
    expect(call('kept')).toBe(42);
    expect(table.get(0)(1)).toBe(3);
  });

  it('traps where no kept export leads to', () => {
    expect(exportsOf(module).table.get(1)()).toBe(7n);
    const { table } = exportsOf(trimWasm(module, (name: string) => name === 'dropped'));
    expect(() => table.get(1)()).toThrow(WebAssembly.RuntimeError);
  });

  it('keeps what every kept export leads to', () => {
    const { names, call } = exportsOf(trimWasm(module, () => false));
    expect(names).toEqual(['kept', 'dropped', 'table']);
    expect(call('dropped')).toBe(5);
  });

  it('is refused when it holds an instruction that is not known', () => {
    expect(() => trimWasm(moduleOf(0xff), () => false)).toThrow('unknown instruction 255');
    expect(() => trimWasm(moduleOf(0xfc, 30), () => false)).toThrow('unknown instruction 0xfc 30');
    expect(() => trimWasm(moduleOf(0xd2, 4), () => false)).toThrow('unknown instruction 210');
  });

  it('is refused when an instruction runs over the end of its function', () => {
    expect(() => trimWasm(moduleOf(0x43), () => false)).toThrow('does not end with its function');
  });
});
