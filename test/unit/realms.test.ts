import { constants } from 'node:os';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { signalOfFetch } from '../../src/client/signal-of-fetch.ts';
import { decodeUtf8, isBytes } from '../../src/core/bytes.ts';
import { errorCode, isError } from '../../src/core/fault.ts';
import { takingBytesOfAnyRealm } from '../../src/keyring/sodium.ts';
import { isBusy, toProblem } from '../../src/store/sqlite/file/sqlite-error.ts';

/** Returns a value of another realm, as Node's values are in the realm of a test file. */
const foreign = (code: string): unknown => runInNewContext(code);

describe('a value of another realm', () => {
  it('control: is no instance of the classes of this one', () => {
    expect(foreign('new Error("x")') instanceof Error).toBe(false);
    expect(foreign('new Uint8Array(1)') instanceof Uint8Array).toBe(false);
  });

  it.each<readonly [string, string | undefined]>([
    ["Object.assign(new Error('x'), { code: 'ENOENT' })", 'ENOENT'],
    ["Object.assign(new TypeError('x'), { code: 'SQLITE_BUSY' })", 'SQLITE_BUSY'],
    ["Object.assign(new Error('x'), { code: 7 })", undefined],
    ["new Error('x')", undefined],
    ["({ code: 'ENOENT' })", undefined],
    ["'ENOENT'", undefined],
    ['null', undefined],
    ['undefined', undefined],
  ])('errorCode(%s) is %s', (code, expected) => {
    expect(errorCode(foreign(code))).toBe(expected);
  });

  it('a full quota has a code, except on Windows', () => {
    const expected = process.platform === 'win32' ? undefined : 'EDQUOT';
    expect(errorCode(Object.assign(new Error('x'), { errno: -constants.errno.EDQUOT }))).toBe(expected);
  });

  it('a lock is waited for, and damage is a problem', () => {
    const error = (code: string) => foreign(`Object.assign(new Error('x'), { code: '${code}' })`);
    expect(isBusy(error('SQLITE_BUSY_SNAPSHOT'))).toBe(true);
    expect(toProblem(error('SQLITE_CORRUPT'))).toMatchObject({ code: 'integrity_failure' });
    expect(isError(foreign('new RangeError("x")'))).toBe(true);
  });

  it.each<readonly [string, boolean]>([
    ['new Uint8Array(2)', true],
    ['new Uint16Array(2)', false],
    ['new DataView(new ArrayBuffer(2))', false],
    ['new ArrayBuffer(2)', false],
    ['[1, 2]', false],
    ["'ab'", false],
  ])('isBytes(%s) is %s', (code, expected) => {
    expect(isBytes(foreign(code))).toBe(expected);
  });
});

it('libsodium gets views of its own realm on the same memory', () => {
  const given: unknown[] = [];
  const Bytes = runInNewContext('Uint8Array') as typeof Uint8Array;
  const library = {
    from_hex: () => new Bytes(1),
    memzero: (bytes: Uint8Array) => void given.push(bytes.fill(0)),
    crypto_box_SEEDBYTES: 32,
  };
  const key = Buffer.from('key');
  const taking = takingBytesOfAnyRealm(library);
  taking.memzero(key);
  expect(given[0] instanceof Bytes).toBe(true);
  expect(key).toEqual(Buffer.alloc(3));
  expect(taking.crypto_box_SEEDBYTES).toBe(32);
  const same = { ...library, from_hex: () => new Uint8Array(1) };
  expect(takingBytesOfAnyRealm(same)).toBe(same);
});

it.each<readonly [string, string | undefined]>([
  ['61c3a9', 'aé'],
  ['efbbbf61', '\uFEFFa'],
  ['', ''],
  ['ff', undefined],
  ['eda080', undefined],
])('the bytes %s in UTF-8 are %j', (hex, expected) => {
  expect(decodeUtf8(new Uint8Array(Buffer.from(hex, 'hex')))).toBe(expected);
});

describe('the signal of the global fetch', () => {
  class OtherSignal extends EventTarget {
    aborted = false;
    reason: unknown;
    abort(reason: unknown) {
      Object.assign(this, { aborted: true, reason });
      this.dispatchEvent(new Event('abort'));
    }
  }

  it("is Node's, and aborts with the given one", () => {
    const other = new OtherSignal();
    const signal = signalOfFetch(other as object as AbortSignal);
    expect([signal instanceof AbortSignal, signal.aborted]).toEqual([true, false]);
    other.abort('late');
    expect([signal.aborted, signal.reason]).toEqual([true, 'late']);
    expect(signalOfFetch(other as object as AbortSignal)).toMatchObject({ aborted: true, reason: 'late' });
  });

  it("is the given one if that is Node's", () => {
    const { signal } = new AbortController();
    expect(signalOfFetch(signal)).toBe(signal);
  });
});
