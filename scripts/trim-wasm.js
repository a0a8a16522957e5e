/**
 * WebAssembly with only what is called: V8 checks every function of a module when it loads it, called or not. A function
 * that no kept export leads to becomes a trap of three bytes, so that no other gets another number, and the dropped
 * exports go. What is kept stays as it was, byte by byte. Through the table a call leads to every function in it that has
 * the type that it names: any other would be a trap already. See the "WebAssembly Core Specification", §4.4 and §5.
 */

/** `unreachable`, in a function without variables of its own: size, variables, instruction, end. */
const TRAP = Uint8Array.of(3, 0, 0x00, 0x0b);

const SECTION = { types: 1, import: 2, functions: 3, exports: 7, start: 8, element: 9, code: 10 };
const FUNCTION = 0;

/** Reads a module's bytes from `at` on. */
class Reader {
  constructor(bytes, at = 0) {
    this.bytes = bytes;
    this.at = at;
  }

  byte() {
    if (this.at >= this.bytes.length) throw new Error('wasm: ends too soon');
    return this.bytes[this.at++];
  }

  /** LEB128, as an unsigned number of up to 32 bits; of longer and signed ones only the length counts. */
  number() {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.byte();
      if (shift < 35) value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
  }

  numbers(count) {
    for (let index = 0; index < count; index++) this.number();
  }

  name() {
    const length = this.number();
    const name = new TextDecoder().decode(this.bytes.subarray(this.at, this.at + length));
    this.at += length;
    return name;
  }
}

/** How many numbers follow an instruction; those without any are not in it. */
const NUMBERS_AFTER = new Map([
  ...[0x02, 0x03, 0x04, 0x0c, 0x0d, 0x20, 0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x3f, 0x40, 0x41, 0x42, 0xd0].map(
    (code) => [code, 1],
  ),
  ...Array.from({ length: 0x3e - 0x28 + 1 }, (_, index) => [0x28 + index, 2]),
]);

/** The same for those of memories and tables, after 0xfc. */
const NUMBERS_AFTER_FC = [0, 0, 0, 0, 0, 0, 0, 0, 2, 1, 2, 1, 2, 1, 2, 1, 1, 1];

const isPlain = (code) =>
  [0x00, 0x01, 0x05, 0x0b, 0x0f, 0x1a, 0x1b, 0xd1].includes(code) || (code >= 0x45 && code <= 0xc4);

/** Steps over what follows a vector instruction (0xfd). */
function skipVector(reader) {
  const code = reader.number();
  const isMemory = code <= 11 || (code >= 84 && code <= 93);
  if (isMemory) reader.numbers(2);
  if (code === 12 || code === 13) reader.at += 16;
  if ((code >= 21 && code <= 34) || (code >= 84 && code <= 91)) reader.at += 1;
  if (code > 255) throw new Error(`wasm: unknown vector instruction ${code}`);
}

/** The functions that the instructions from `reader.at` to `end` call, and the types of those called through the table. */
function callsIn(reader, end) {
  const called = [];
  const types = [];
  while (reader.at < end) {
    const code = reader.byte();
    if (code === 0x10) called.push(reader.number());
    else if (code === 0x11) {
      types.push(reader.number());
      reader.number(); // which table
    } else if (NUMBERS_AFTER.has(code)) reader.numbers(NUMBERS_AFTER.get(code));
    else if (code === 0x0e) reader.numbers(reader.number() + 1);
    else if (code === 0x1c) reader.numbers(reader.number());
    else if (code === 0x43) reader.at += 4;
    else if (code === 0x44) reader.at += 8;
    else if (code === 0xfd) skipVector(reader);
    else if (code === 0xfc) {
      const kind = reader.number();
      if (kind >= NUMBERS_AFTER_FC.length) throw new Error(`wasm: unknown instruction 0xfc ${kind}`);
      reader.numbers(NUMBERS_AFTER_FC[kind]);
    } else if (!isPlain(code)) throw new Error(`wasm: unknown instruction ${code}`);
  }
  if (reader.at !== end) throw new Error('wasm: an instruction does not end with its function');
  return { called, types };
}

function sectionsOf(bytes) {
  const reader = new Reader(bytes, 8);
  const sections = [];
  while (reader.at < bytes.length) {
    const id = reader.byte();
    const size = reader.number();
    sections.push({ id, start: reader.at, end: reader.at + size });
    reader.at += size;
  }
  return sections;
}

/** Imported functions have the first numbers. */
function countImportedFunctions(reader) {
  const count = reader.number();
  for (let index = 0; index < count; index++) {
    reader.name();
    reader.name();
    if (reader.byte() !== FUNCTION) throw new Error('wasm: imports more than functions; look and adapt');
    reader.number();
  }
  return count;
}

/** Of each type what it is, whichever number it has. */
function typesIn(reader) {
  return Array.from({ length: reader.number() }, () => {
    const start = reader.at;
    if (reader.byte() !== 0x60) throw new Error('wasm: a type that is no function; look and adapt');
    reader.numbers(reader.number());
    reader.numbers(reader.number());
    return Buffer.from(reader.bytes.subarray(start, reader.at)).toString('hex');
  });
}

function exportsIn(reader) {
  return Array.from({ length: reader.number() }, () => {
    const start = reader.at;
    const name = reader.name();
    const isFunction = reader.byte() === FUNCTION;
    const number = reader.number();
    return { name, isFunction, number, bytes: reader.bytes.subarray(start, reader.at) };
  });
}

function tableFunctions(reader) {
  return Array.from({ length: reader.number() }, () => {
    if (reader.number() !== 0 || reader.byte() !== 0x41) throw new Error('wasm: an unknown table; look and adapt');
    reader.number();
    if (reader.byte() !== 0x0b) throw new Error('wasm: an unknown table; look and adapt');
    return Array.from({ length: reader.number() }, () => reader.number());
  }).flat();
}

function bodiesIn(reader) {
  return Array.from({ length: reader.number() }, () => {
    const start = reader.at;
    const size = reader.number();
    const end = reader.at + size;
    const instructions = new Reader(reader.bytes, reader.at);
    for (let groups = instructions.number(); groups > 0; groups--) instructions.numbers(2);
    reader.at = end;
    return { bytes: reader.bytes.subarray(start, end), ...callsIn(instructions, end) };
  });
}

function encodeNumber(value) {
  const bytes = [];
  for (let rest = value; ; rest >>>= 7) {
    if (rest < 0x80) return Uint8Array.from([...bytes, rest]);
    bytes.push((rest & 0x7f) | 0x80);
  }
}

const list = (items) => Buffer.concat([encodeNumber(items.length), ...items]);

/** `isDropped` is asked about the name of each exported function. Throws when it meets what it does not know. */
export function trimWasm(bytes, isDropped) {
  const sections = sectionsOf(bytes);
  function read(id, from, otherwise) {
    const section = sections.find((found) => found.id === id);
    return section === undefined ? otherwise : from(new Reader(bytes, section.start));
  }
  const imported = read(SECTION.import, countImportedFunctions, 0);
  const kept = read(SECTION.exports, exportsIn, []).filter(({ name, isFunction }) => !isFunction || !isDropped(name));
  const bodies = read(SECTION.code, bodiesIn, []);

  const types = read(SECTION.types, typesIn, []);
  const typeOf = read(
    SECTION.functions,
    (reader) => Array.from({ length: reader.number() }, () => reader.number()),
    [],
  );
  const inTable = read(SECTION.element, tableFunctions, []);

  const reached = new Set([
    ...kept.filter(({ isFunction }) => isFunction).map(({ number }) => number),
    ...read(SECTION.start, (reader) => [reader.number()], []),
  ]);
  for (const number of reached) {
    const body = bodies[number - imported];
    for (const called of body?.called ?? []) reached.add(called);
    for (const type of body?.types ?? []) {
      for (const found of inTable) if (types[typeOf[found - imported]] === types[type]) reached.add(found);
    }
  }

  const changed = new Map([
    [SECTION.exports, list(kept.map((found) => found.bytes))],
    [SECTION.code, list(bodies.map((body, index) => (reached.has(index + imported) ? body.bytes : TRAP)))],
  ]);
  const trimmed = sections.flatMap(({ id, start, end }) => {
    const content = changed.get(id) ?? bytes.subarray(start, end);
    return [Uint8Array.of(id), encodeNumber(content.length), content];
  });
  return Buffer.concat([bytes.subarray(0, 8), ...trimmed]);
}
