import { randomBytes } from 'node:crypto';
import { Fault } from '../core/fault.ts';
import type { Credential } from './credential.ts';
import { deriveSlotKeys, isWithinBounds, PASSPHRASE_COST, type PassphraseCost, SALT_BYTES } from './slot-kdf.ts';
import type { LargeSodium } from './sodium.ts';
import { KEY_BYTES } from './sub-keys.ts';
import type { TransferKey } from './transfer-key.ts';

/** "VLTX", the first bytes of a sealed export. No JSON or CSV export begins with them. */
export const SEALED_MAGIC = Buffer.from('VLTX');

const LAYOUT = 0x01;
const KIND = { recipient: 0x01, passphrase: 0x02 } as const;
const CHUNK_BYTES = 64 * 1024;
const LENGTH_BYTES = 4;
const BOX_BYTES = 48 + KEY_BYTES;
const PASSPHRASE_BYTES = 4 + 4 + SALT_BYTES + KEY_BYTES;

/** The seal of an export: a recipient's public key, or a passphrase. */
export type Seal = { readonly kind: 'recipient'; readonly public_key: Uint8Array } | Passphrase;

/** The secret that opens a sealed export. */
export type Opener = { readonly kind: 'recipient'; readonly key: TransferKey } | Passphrase;

type Passphrase = Extract<Credential, { readonly kind: 'passphrase' }>;

/**
 * Seals a stream of bytes under its own key, integers big endian:
 *
 *     offset  0       4       5     6                                      then
 *             "VLTX"  layout  kind  stream key, sealed or derived          secretstream header 24, chunks
 *
 *     kind 1 (recipient)   sealed box of the stream key 80 (X25519, crypto_box_seal)
 *     kind 2 (passphrase)  passes u32 ‖ memory KiB u32 ‖ salt 16 ‖ commitment 32; the stream key is Argon2id's (slot-kdf.ts)
 *     chunk                length u32 ‖ that many bytes of crypto_secretstream_xchacha20poly1305, at most 64 KiB + 17
 *
 * `layout` is 0x01. The additional data of the first chunk is everything before it, so the chunk also authenticates the
 * head. Only the last chunk has the tag FINAL, and nothing follows it, so a truncated file is detected at its end.
 */
export async function* sealStream(sodium: LargeSodium, seal: Seal, pieces: AsyncIterable<string>) {
  const { key, reached } = await newStreamKey(sodium, seal);
  const { state, header } = sodium.crypto_secretstream_xchacha20poly1305_init_push(key);
  key.fill(0);
  const head = Buffer.concat([SEALED_MAGIC, Uint8Array.of(LAYOUT, KIND[seal.kind]), reached, header]);
  yield head;
  let context: Uint8Array | null = head;
  const push = (chunk: Uint8Array, tag: number): Uint8Array => {
    const sealed = sodium.crypto_secretstream_xchacha20poly1305_push(state, chunk, context, tag);
    context = null;
    const length = Buffer.alloc(LENGTH_BYTES);
    length.writeUInt32BE(sealed.length);
    return Buffer.concat([length, sealed]);
  };
  let waiting: Uint8Array = new Uint8Array(0);
  for await (const piece of pieces) {
    waiting = Buffer.concat([waiting, Buffer.from(piece)]);
    while (waiting.length > CHUNK_BYTES) {
      yield push(waiting.subarray(0, CHUNK_BYTES), sodium.crypto_secretstream_xchacha20poly1305_TAG_MESSAGE);
      waiting = waiting.subarray(CHUNK_BYTES);
    }
  }
  yield push(waiting, sodium.crypto_secretstream_xchacha20poly1305_TAG_FINAL);
}

/**
 * Yields the bytes that were sealed, and verifies each chunk before yielding it. Only the end of the iteration proves
 * that the file is complete. Throws the fault `wrong_credential`, or `damaged` for altered bytes.
 */
export async function* openStream(sodium: LargeSodium, opener: Opener, pieces: AsyncIterable<Uint8Array>) {
  const source = byteSource(pieces);
  const fixed = await source.exactly(SEALED_MAGIC.length + 2);
  if (!fixed.subarray(0, SEALED_MAGIC.length).equals(SEALED_MAGIC) || fixed[SEALED_MAGIC.length] !== LAYOUT) {
    throw new Fault('damaged', 'this is not a sealed export, or a newer version created it');
  }
  const kind = fixed[SEALED_MAGIC.length + 1];
  if (kind !== KIND.recipient && kind !== KIND.passphrase) throw damaged();
  const reached = await source.exactly(kind === KIND.recipient ? BOX_BYTES : PASSPHRASE_BYTES);
  const header = await source.exactly(sodium.crypto_secretstream_xchacha20poly1305_HEADERBYTES);
  if (kind !== KIND[opener.kind]) {
    const wanted = kind === KIND.recipient ? '--identity' : '--seal-passphrase-file';
    throw new Fault('wrong_credential', 'the export is sealed for another kind of secret', { hint: `set ${wanted}` });
  }
  const key = await reachStreamKey(sodium, opener, reached);
  const state = sodium.crypto_secretstream_xchacha20poly1305_init_pull(header, key);
  key.fill(0);
  const most = CHUNK_BYTES + sodium.crypto_secretstream_xchacha20poly1305_ABYTES;
  let context: Uint8Array | null = Buffer.concat([fixed, reached, header]);
  for (;;) {
    const length = (await source.exactly(LENGTH_BYTES)).readUInt32BE();
    if (length > most) throw damaged();
    const pulled = pull(sodium, state, await source.exactly(length), context);
    context = null;
    yield pulled.message;
    if (pulled.tag === sodium.crypto_secretstream_xchacha20poly1305_TAG_FINAL) break;
  }
  if (!(await source.atEnd())) throw new Fault('damaged', 'the sealed file has data after its end');
}

type State = ReturnType<LargeSodium['crypto_secretstream_xchacha20poly1305_init_pull']>;

function pull(sodium: LargeSodium, state: State, chunk: Uint8Array, context: Uint8Array | null) {
  try {
    const pulled = sodium.crypto_secretstream_xchacha20poly1305_pull(state, chunk, context);
    if (pulled !== false) return pulled;
  } catch (cause) {
    throw damaged(cause);
  }
  throw damaged();
}

function damaged(cause?: unknown): Fault {
  const hint = 'copy the file again, or repeat the export; rows before the damage may have been imported';
  return new Fault('damaged', 'the sealed file is damaged, or was cut off', { hint, cause });
}

async function newStreamKey(sodium: LargeSodium, seal: Seal) {
  if (seal.kind === 'recipient') {
    const key = randomBytes(KEY_BYTES);
    return { key, reached: sodium.crypto_box_seal(key, seal.public_key) };
  }
  const salt = randomBytes(SALT_BYTES);
  const { kek, commitment } = await deriveSlotKeys(sodium, seal, salt, PASSPHRASE_COST);
  const cost = Buffer.alloc(8);
  cost.writeUInt32BE(PASSPHRASE_COST.passes);
  cost.writeUInt32BE(PASSPHRASE_COST.memory_kib, 4);
  return { key: kek, reached: Buffer.concat([cost, salt, commitment]) };
}

async function reachStreamKey(sodium: LargeSodium, opener: Opener, reached: Buffer): Promise<Uint8Array> {
  if (opener.kind === 'recipient') {
    try {
      return sodium.crypto_box_seal_open(reached, opener.key.public_key, opener.key.secret_key);
    } catch (cause) {
      throw new Fault('wrong_credential', 'the export is not sealed for this key', {
        hint: 'pass the secret key of its --recipient with --identity',
        cause,
      });
    }
  }
  const cost: PassphraseCost = { passes: reached.readUInt32BE(0), memory_kib: reached.readUInt32BE(4) };
  // The file is not trusted until it is opened: its cost must not exhaust this machine's memory or take hours.
  if (!isWithinBounds(cost)) throw damaged();
  const salt = reached.subarray(8, 8 + SALT_BYTES);
  const { kek, commitment } = await deriveSlotKeys(sodium, opener, salt, cost);
  if (sodium.memcmp(commitment, reached.subarray(8 + SALT_BYTES))) return kek;
  kek.fill(0);
  throw new Fault('wrong_credential', 'the passphrase does not open the export', {
    hint: 'pass the passphrase of the export with --seal-passphrase-file',
  });
}

/** Reads exact numbers of bytes from pieces of any size. */
function byteSource(pieces: AsyncIterable<Uint8Array>) {
  const iterator = pieces[Symbol.asyncIterator]();
  let waiting: Buffer = Buffer.alloc(0);
  async function more(): Promise<boolean> {
    const { done, value } = await iterator.next();
    if (done === true) return false;
    waiting = Buffer.concat([waiting, value]);
    return true;
  }
  return {
    async exactly(count: number): Promise<Buffer> {
      while (waiting.length < count) if (!(await more())) throw damaged();
      const taken = waiting.subarray(0, count);
      waiting = waiting.subarray(count);
      return taken;
    },
    async atEnd(): Promise<boolean> {
      while (waiting.length === 0) if (!(await more())) return true;
      return false;
    },
  };
}
