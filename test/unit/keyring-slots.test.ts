import { beforeAll, describe, expect, test } from 'vitest';
import { Fault } from '../../src/core/fault.ts';
import type { VaultHeader } from '../../src/core/ports.ts';
import type { Credential } from '../../src/keyring/credential.ts';
import { createKeyring, unlockMasterKey } from '../../src/keyring/master-key.ts';
import { decodeSlot, encodeSlot, PASSPHRASE_COST, type Slot } from '../../src/keyring/slot.ts';
import { addSlot, listSlots, removeSlot } from '../../src/keyring/slots.ts';

const NOW = 1_700_000_000_000;
const keyFile = (fill: number, size = 32): Credential => ({ kind: 'key_file', key: new Uint8Array(size).fill(fill) });
const passphrase = (text: string): Credential => ({ kind: 'passphrase', passphrase: text });

const KEY = keyFile(1);
const PASSPHRASE = passphrase('correct horse battery staple');

async function faultOf(act: Promise<unknown>): Promise<Fault> {
  const error = await act.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof Fault)) throw new Error('expected a fault', { cause: error });
  return error;
}

/** Returns the header with an altered slot whose checksum is valid. */
function altered(header: VaultHeader, number: number, change: Partial<Slot>): VaultHeader {
  const slots = header.slots.map(({ slot, bytes }) =>
    slot === number ? { slot, bytes: encodeSlot({ ...decodeSlot(slot, bytes), ...change }) } : { slot, bytes },
  );
  return { ...header, slots };
}

function flipped(bytes: Uint8Array, index: number): Uint8Array {
  return bytes.map((byte, at) => (at === index ? byte ^ 1 : byte));
}

let keyHeader: VaultHeader;
let passphraseHeader: VaultHeader;
beforeAll(async () => {
  keyHeader = (await createKeyring(KEY, { now: NOW })).header;
  passphraseHeader = (await createKeyring(PASSPHRASE, { now: NOW })).header;
});

describe('a passphrase', () => {
  test('unlocks; another passphrase or a key file does not', async () => {
    expect(await unlockMasterKey(passphraseHeader, PASSPHRASE)).toHaveLength(32);
    const wrong = passphrase('correct horse battery stapler');
    expect((await faultOf(unlockMasterKey(passphraseHeader, wrong))).code).toBe('wrong_credential');
    const fault = await faultOf(unlockMasterKey(passphraseHeader, KEY));
    expect([fault.code, fault.hint]).toEqual(['wrong_credential', 'use a passphrase']);
  });

  test('of a prompt is derived once for the check and the next opening', async () => {
    const keys = new Map<string, Uint8Array>();
    const open = (keeps: boolean) => {
      const derived = { keys, keeps };
      return unlockMasterKey(passphraseHeader, {
        kind: 'passphrase',
        passphrase: 'correct horse battery staple',
        derived,
      });
    };
    const master = await open(true);
    const [kept] = keys.values();
    expect(kept).toHaveLength(64);
    expect(await open(false)).toEqual(master);
    expect([keys.size, kept]).toEqual([0, new Uint8Array(64)]);
    expect(await open(false)).toEqual(master);
    expect(keys.size).toBe(0);
  });

  test('is derived with Argon2id, 64 MiB and three passes', () => {
    const [slot] = passphraseHeader.slots;
    if (slot === undefined) throw new Error('unreachable');
    expect(decodeSlot(slot.slot, slot.bytes).cost).toEqual(PASSPHRASE_COST);
    expect(PASSPHRASE_COST).toEqual({ passes: 3, memory_kib: 65_536 });
  });

  test.each(['', 'x', 'eleven char', 'cafe\u0301 au lai', '😀'.repeat(11)])('as short as %j is weak', async (text) => {
    expect((await faultOf(createKeyring(passphrase(text), { now: NOW }))).code).toBe('weak_passphrase');
  });

  test('may be short when allowed, but never empty', async () => {
    const { header } = await createKeyring(passphrase('x'), { now: NOW, allowWeak: true });
    expect(await unlockMasterKey(header, passphrase('x'))).toHaveLength(32);
    const empty = createKeyring(passphrase(''), { now: NOW, allowWeak: true });
    expect((await faultOf(empty)).code).toBe('weak_passphrase');
  });
});

describe('the derivation cost of a slot', () => {
  const absurd = [
    { passes: 3, memory_kib: 0xffff_ffff },
    { passes: 3, memory_kib: 1024 * 1024 + 1 },
    { passes: 3, memory_kib: 8 },
    { passes: 3, memory_kib: 0 },
    { passes: 0xffff_ffff, memory_kib: 65_536 },
    { passes: 17, memory_kib: 65_536 },
    { passes: 1, memory_kib: 65_536 },
    { passes: 0, memory_kib: 65_536 },
  ];

  test.each(absurd)('is rejected without a derivation: $passes passes, $memory_kib KiB', async (cost) => {
    const started = process.cpuUsage();
    const fault = await faultOf(unlockMasterKey(altered(passphraseHeader, 0, { cost }), PASSPHRASE));
    expect(process.cpuUsage(started).user).toBeLessThan(500_000);
    expect([fault.code, fault.message]).toEqual([
      'damaged',
      'key slot 0 has a key derivation cost that is out of range',
    ]);
  });

  test('is limited for all slots together', async () => {
    const cost = { passes: 16, memory_kib: 1024 * 1024 };
    const slots = passphraseHeader.slots.flatMap(({ bytes }) => [0, 1].map((slot) => ({ slot, bytes })));
    const both = altered(altered({ ...passphraseHeader, slots }, 0, { cost }), 1, { cost });
    expect((await faultOf(unlockMasterKey(both, PASSPHRASE))).message).toMatch(/together .* out of range/);
  });

  test('must be absent for a key file', async () => {
    const header = altered(keyHeader, 0, { cost: PASSPHRASE_COST });
    expect((await faultOf(unlockMasterKey(header, KEY))).code).toBe('damaged');
  });

  test('changes the derived keys, so another cost opens nothing', async () => {
    const header = altered(passphraseHeader, 0, { cost: { passes: 2, memory_kib: 65_536 } });
    expect((await faultOf(unlockMasterKey(header, PASSPHRASE))).code).toBe('wrong_credential');
  });
});

describe('an altered slot with a valid checksum', () => {
  const at = 0;
  const slot = () => decodeSlot(at, keyHeader.slots[0]?.bytes ?? new Uint8Array(0));
  const unlock = (change: Partial<Slot>) => faultOf(unlockMasterKey(altered(keyHeader, at, change), KEY));

  test('is a wrong credential when salt or commitment changed', async () => {
    expect((await unlock({ salt: flipped(slot().salt, 3) })).code).toBe('wrong_credential');
    expect((await unlock({ commitment: flipped(slot().commitment, 31) })).code).toBe('wrong_credential');
  });

  test('is damaged when only other fields changed', async () => {
    expect((await unlock({ created_at: NOW + 1 })).code).toBe('damaged');
    for (let index = 0; index < slot().envelope.length; index++) {
      expect((await unlock({ envelope: flipped(slot().envelope, index) })).code).toBe('damaged');
    }
  });
});

describe('slots', () => {
  test('can be added and removed without changing the master key', async () => {
    const master = await unlockMasterKey(keyHeader, KEY);
    const two = await addSlot(keyHeader, master, PASSPHRASE, { now: NOW + 5 });
    expect(listSlots(two)).toEqual([
      { slot: 0, kind: 'key_file', created_at: NOW },
      { slot: 1, kind: 'passphrase', created_at: NOW + 5 },
    ]);
    const three = await addSlot(two, master, keyFile(2), { now: NOW });
    for (const credential of [KEY, PASSPHRASE, keyFile(2)]) {
      expect(await unlockMasterKey(three, credential)).toEqual(master);
    }
    expect((await faultOf(unlockMasterKey(three, keyFile(3)))).code).toBe('wrong_credential');

    const left = await removeSlot(three, master, 0);
    expect((await faultOf(unlockMasterKey(left, KEY))).code).toBe('wrong_credential');
    expect(await unlockMasterKey(left, keyFile(2))).toEqual(master);
    const refilled = await addSlot(left, master, keyFile(4), { now: NOW });
    expect(listSlots(refilled).map(({ slot }) => slot)).toEqual([0, 1, 2]);
    // The order of the slots in the store does not matter.
    expect(await unlockMasterKey({ ...refilled, slots: refilled.slots.toReversed() }, keyFile(4))).toEqual(master);
  });

  test('number between one and eight', async () => {
    const master = await unlockMasterKey(keyHeader, KEY);
    expect((await faultOf(removeSlot(keyHeader, master, 0))).code).toBe('conflict');
    const none = await faultOf(removeSlot(keyHeader, master, 1));
    expect([none.code, none.hint]).toEqual(['not_found', 'list them with `vault keys list`']);
    let header = keyHeader;
    for (let fill = 2; fill <= 8; fill++) header = await addSlot(header, master, keyFile(fill), { now: NOW });
    expect((await faultOf(addSlot(header, master, keyFile(9), { now: NOW }))).code).toBe('conflict');
    expect(await unlockMasterKey(header, keyFile(8))).toEqual(master);
  });

  test('are unique for each credential', async () => {
    const master = await unlockMasterKey(keyHeader, KEY);
    const two = await addSlot(keyHeader, master, PASSPHRASE, { now: NOW });
    const again = (credential: Credential) => addSlot(two, master, credential, { now: NOW });
    const [key, text] = [await faultOf(again(KEY)), await faultOf(again(PASSPHRASE))];
    expect([key.code, key.message]).toEqual(['conflict', 'the key already opens this vault: slot 0']);
    expect([text.code, text.message]).toEqual(['conflict', 'the passphrase already opens this vault: slot 1']);
  });

  test('have unique labels, by which they are removed', async () => {
    const master = await unlockMasterKey(keyHeader, KEY);
    const label = '🃏'.repeat(40);
    const two = await addSlot(keyHeader, master, keyFile(2), { now: NOW, label });
    const three = await addSlot(two, master, keyFile(3), { now: NOW });
    const four = await addSlot(three, master, keyFile(4), { now: NOW });
    expect(listSlots(four).map((slot) => slot.label)).toEqual([undefined, label, undefined, undefined]);
    expect(await unlockMasterKey(four, keyFile(2))).toEqual(master);
    const taken = await faultOf(addSlot(four, master, keyFile(5), { now: NOW, label }));
    expect([taken.code, taken.message]).toEqual(['conflict', 'another key slot has this label']);
    expect(listSlots(await removeSlot(four, master, label)).map(({ slot }) => slot)).toEqual([0, 2, 3]);
    for (const named of ['', '1', 'none']) {
      expect((await faultOf(removeSlot(four, master, named))).code).toBe('not_found');
    }
    const { header } = await createKeyring(KEY, { now: NOW, label: 'first' });
    expect(listSlots(header)).toEqual([{ slot: 0, kind: 'key_file', created_at: NOW, label: 'first' }]);
  });

  test.each(['', 'other', 'labe', 'labels', 'x'.repeat(161)])(
    'cannot get the label %j without the key',
    async (text) => {
      const { header } = await createKeyring(KEY, { now: NOW, label: 'label' });
      expect(await unlockMasterKey(altered(header, 0, { label: 'label' }), KEY)).toHaveLength(32);
      expect((await faultOf(unlockMasterKey(altered(header, 0, { label: text }), KEY))).code).toBe('damaged');
    },
  );

  test('change only in an intact header, and only to a valid credential', async () => {
    const master = await unlockMasterKey(keyHeader, KEY);
    const forged = { ...keyHeader, created_at: NOW + 1 };
    expect((await faultOf(addSlot(forged, master, keyFile(2), { now: NOW }))).code).toBe('damaged');
    expect((await faultOf(removeSlot(forged, master, 0))).code).toBe('damaged');
    expect((await faultOf(addSlot(keyHeader, master, passphrase('x'), { now: NOW }))).code).toBe('weak_passphrase');
    expect((await faultOf(addSlot(keyHeader, master, keyFile(2, 5), { now: NOW }))).code).toBe('usage');
  });
});
