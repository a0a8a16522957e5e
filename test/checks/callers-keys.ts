import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { runInNewContext } from 'node:vm';
import { ROOT } from '../../scripts/build-output.ts';
import type { OpenedVault, OpenVaultOptions } from '../../src/library/open-vault.ts';
import { type Check, CheckFailure, type CheckOptions, type Figures } from './check.ts';
import { makeFolder } from './folder.ts';
import { seededNumbers } from './perform.ts';

type Open = (options: OpenVaultOptions) => Promise<OpenedVault>;

const KEY_BYTES = 32;
/** The bytes on each side of a key in a larger buffer. */
const MARGIN = 8;

class KeyBytes extends Uint8Array {}

function within(key: Uint8Array, buffer: ArrayBufferLike): Uint8Array {
  const view = new Uint8Array(buffer, MARGIN, KEY_BYTES);
  view.set(key);
  return view;
}

function pooled(key: Uint8Array): Buffer {
  const buffer = Buffer.allocUnsafe(KEY_BYTES);
  buffer.set(key);
  return buffer;
}

const KINDS: Readonly<Record<string, (key: Uint8Array) => Uint8Array>> = {
  'Buffer.alloc': (key) => Buffer.alloc(KEY_BYTES, key),
  'Buffer.from, in the pool': (key) => Buffer.from(key),
  'Buffer.allocUnsafe, in the pool': pooled,
  'a subarray of a Buffer': (key) =>
    Buffer.concat([Buffer.alloc(MARGIN), key, Buffer.alloc(MARGIN)]).subarray(MARGIN, MARGIN + KEY_BYTES),
  'a decoded Buffer': (key) => Buffer.from(Buffer.from(key).toString('hex'), 'hex'),
  Uint8Array: (key) => new Uint8Array(key),
  'a view of an ArrayBuffer': (key) => within(key, new ArrayBuffer(KEY_BYTES + 2 * MARGIN)),
  'a view of a SharedArrayBuffer': (key) => within(key, new SharedArrayBuffer(KEY_BYTES + 2 * MARGIN)),
  'a view of a resizable ArrayBuffer': (key) => within(key, new ArrayBuffer(64, { maxByteLength: 128 })),
  'a subclass of Uint8Array': (key) => new KeyBytes(key),
  'a Uint8Array of another realm': (key) => runInNewContext('Uint8Array.from(key)', { key: [...key] }),
};

const REJECTED: Readonly<Record<string, (key: Uint8Array) => ArrayBufferView<ArrayBuffer>>> = {
  Int8Array: (key) => new Int8Array(new Uint8Array(key).buffer),
  Uint8ClampedArray: (key) => new Uint8ClampedArray(key),
  Uint16Array: (key) => new Uint16Array(new Uint8Array(key).buffer),
  BigUint64Array: (key) => new BigUint64Array(new Uint8Array(key).buffer),
  Float32Array: (key) => new Float32Array(new Uint8Array(key).buffer),
  DataView: (key) => new DataView(new Uint8Array(key).buffer),
};

/** Returns a copy of the key's whole buffer; only of the key for a Buffer, whose pool others use. */
function bytesOf(key: ArrayBufferView): Buffer {
  return Buffer.from(Buffer.isBuffer(key) ? key : new Uint8Array(key.buffer));
}

/** Rejects with a `CheckFailure` when `work` changes the caller's bytes. */
async function keeping<T>(what: string, key: ArrayBufferView, work: () => Promise<T>): Promise<T> {
  const before = bytesOf(key);
  const done = await work();
  if (!bytesOf(key).equals(before)) throw new CheckFailure(`${what}: the caller's bytes have changed`);
  return done;
}

async function outcome(open: Open, options: OpenVaultOptions): Promise<string> {
  try {
    await (await open(options)).close();
    return 'opened';
  } catch (error) {
    return error instanceof TypeError ? 'TypeError' : String(Object(error).code);
  }
}

/** Creates, closes, opens and fails to open a vault with one kind of key. Resolves to the number of openings. */
async function tryKind(open: Open, kind: string, file: string, random: () => number): Promise<number> {
  const own = Uint8Array.from({ length: KEY_BYTES }, () => Math.floor(random() * 256));
  const make = KINDS[kind] ?? ((bytes: Uint8Array) => bytes);
  const key = make(own);
  const other = make(own.toReversed());
  const steps: readonly (readonly [string, Uint8Array, Partial<OpenVaultOptions>, string])[] = [
    ['a failed creation', key, { file: path.join(file, 'none'), createIfMissing: true }, 'file_unwritable'],
    ['a missing file', key, {}, 'file_missing'],
    ['a creation', key, { createIfMissing: true }, 'opened'],
    ['an opening', key, {}, 'opened'],
    ['the wrong key', other, {}, 'wrong_credential'],
    ['a retry with the same array', key, {}, 'opened'],
    ['an unsafe file', key, { file: path.dirname(file) }, 'file_unsafe'],
    ["the owner's key", own, {}, 'opened'],
    ['zeros', new Uint8Array(KEY_BYTES), {}, 'wrong_credential'],
    ['zeros for a new vault', Buffer.alloc(KEY_BYTES), { file: `${file}2`, createIfMissing: true }, 'usage'],
  ];
  for (const [step, used, more, expected] of steps) {
    const what = `${kind}, ${step}`;
    const found = await keeping(what, used, () => outcome(open, { file, key: used, ...more }));
    if (found !== expected) throw new CheckFailure(`${what}: ${found}, not ${expected}`);
  }
  // The key that the caller has overwritten by the time that the file is created.
  const overwritten = make(own);
  const late = open({ file: `${file}3`, key: overwritten, createIfMissing: true });
  overwritten.fill(0);
  await (await late).close();
  const found = await outcome(open, { file: `${file}3`, key: own });
  if (found !== 'opened') throw new CheckFailure(`${kind}, overwritten after the call: ${found}`);
  return steps.length + 2;
}

async function tryAll(open: Open, { seed }: CheckOptions): Promise<Figures> {
  using folder = makeFolder();
  const random = seededNumbers(seed);
  let openings = 0;
  for (const [at, kind] of Object.keys(KINDS).entries()) {
    openings += await tryKind(open, kind, path.join(folder.path, `${at}.db`), random);
  }
  const own = Uint8Array.from({ length: KEY_BYTES }, () => Math.floor(random() * 256));
  for (const [kind, make] of Object.entries(REJECTED)) {
    const key = make(own);
    const options: object = { file: path.join(folder.path, 'none.db'), key, createIfMissing: true };
    const found = await keeping(kind, key, () => outcome(open, options as OpenVaultOptions));
    if (found !== 'TypeError') throw new CheckFailure(`${kind}: ${found}, not a TypeError`);
    openings += 1;
  }
  return { kinds: Object.keys(KINDS).length, rejected_kinds: Object.keys(REJECTED).length, openings };
}

async function builtOpenVault(): Promise<Open> {
  const { openVault } = await import(pathToFileURL(path.join(ROOT, 'dist/library/open-vault.js')).href);
  return openVault;
}

/** Owns no copy of a Buffer: `slice` returns a view of the caller's bytes, which the end wipes. */
function wiping(open: Open): Open {
  return async (options) => {
    const view = options.key?.slice();
    try {
      const vault = await open({ ...options, key: view });
      const close = () => vault.close().finally(() => view?.fill(0));
      return { ...vault, close };
    } catch (error) {
      view?.fill(0);
      throw error;
    }
  };
}

/** Checks that `openVault` never changes the bytes of its caller, whatever array they are in. */
export const CHECK: Check = {
  number: 28,
  name: "callers' keys",
  quick: true,
  run: async (options) => tryAll(await builtOpenVault(), options),
  control: async (options) => tryAll(wiping(await builtOpenVault()), options),
};
