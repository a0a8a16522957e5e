import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { inflateSync } from 'node:zlib';
import { generateHybridIdentity, generateX25519Identity, identityToRecipient } from 'age-encryption';
import * as testdata from 'cctv-age';
import { expect, it } from 'vitest';
import { chooseEncryption } from '../../src/cli/commands/transfer/age-keys.ts';
import { openInput } from '../../src/cli/commands/transfer/input-file.ts';
import type { Fault } from '../../src/core/fault.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const folder = temporaryFolder();

/** Writes a file that only its owner can read. Returns its path. */
function write(name: string, content: string | Uint8Array): string {
  const file = path.join(folder, name);
  writeFileSync(file, content, { mode: 0o600 });
  return file;
}

/** Reads a file as an import does. Resolves to the bytes that arrived, and to the fault that ended the file. */
async function read(content: Uint8Array, keys: { readonly identity?: string; readonly passphrase?: string }) {
  const flags = {
    identity: keys.identity === undefined ? undefined : write('identity', keys.identity),
    agePassphraseFile: keys.passphrase === undefined ? undefined : write('passphrase', keys.passphrase),
  };
  const pieces: Uint8Array[] = [];
  try {
    for await (const piece of (await openInput(write('file', content), flags)).bytes) pieces.push(piece);
  } catch (error) {
    return { bytes: Buffer.concat(pieces), fault: error as Fault };
  }
  return { bytes: Buffer.concat(pieces) };
}

const VECTORS = new Map(Object.entries<Uint8Array>(testdata));
it('all published vectors exist', () => expect(VECTORS.size).toBe(143));

function parseVector(name: string) {
  const vector = Buffer.from(VECTORS.get(name) ?? '');
  const end = vector.indexOf('\n\n');
  const head = vector.toString('utf8', 0, end);
  const members = (key: string) => [...head.matchAll(new RegExp(`^${key}: (.*)$`, 'gm'))].map(([, text = '']) => text);
  const body = vector.subarray(end + 2);
  return { members, file: members('compressed').length > 0 ? inflateSync(body) : body };
}

const CODES: Readonly<Record<string, string>> = { 'no match': 'wrong_credential' };
/** These files do not start like an age file. They are imported as text, and fail in their first row. */
const TEXTS = ['empty', 'armor_garbage_leading', 'armor_lowercase', 'armor_whitespace_begin', 'armor_wrong_type'];
/** The package yields a chunk when it knows what follows. Of these files, it yields a chunk less than age. */
const KEPT_BACK =
  /^armor_garbage_encoded$|^stream_(no_final(_two_chunks)?_full|trailing_garbage_\w+|two_final_chunks(_full|_second)?)$/;

it.each([...VECTORS.keys()])('the published vector %s', async (name) => {
  const { members, file } = parseVector(name);
  const identity = members('identity').join('\n') || (await generateX25519Identity());
  const { bytes, fault } = await read(file, { identity, passphrase: members('passphrase')[0] ?? '' });
  const [expected = ''] = members('expect');
  if (TEXTS.includes(name)) return expect({ fault, bytes }).toEqual({ fault: undefined, bytes: file });
  if (identity.includes('-KEY-PQ-')) return expect(fault?.hint).toContain('age -d -i KEYS EXPORT | vault import -');
  // The passphrase beside the recipient of this file is not asked.
  if (name === 'scrypt_and_x25519') return expect(fault?.code).toBe('wrong_credential');
  expect(fault?.code).toBe(expected.endsWith('failure') ? 'invalid_data' : CODES[expected]);
  if (KEPT_BACK.test(name)) return expect(bytes.length % (64 * 1024)).toBe(0);
  if (!/success|payload/.test(expected)) return expect(bytes).toHaveLength(0);
  expect(createHash('sha256').update(bytes).digest('hex')).toBe(members('payload')[0]);
});

it('a file of --identity may have comments, empty lines and several keys', async () => {
  const { members, file } = parseVector('x25519');
  const identity = `# public key: age1…\r\n${await generateX25519Identity()}\r\n\r\n${members('identity')}\r\n`;
  expect((await read(file, { identity })).fault).toBe(undefined);
});

it.each([
  ['nothing', ''],
  ['only a comment', '# public key: age1…\n'],
  ['a key of SSH', '-----BEGIN OPENSSH PRIVATE KEY-----\n'],
  ['a key of a plugin', 'AGE-PLUGIN-YUBIKEY-1QQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQX6KPSE\n'],
  ['a key with a typing error', `AGE-SECRET-KEY-1${'Q'.repeat(58)}\n`],
  ['a public key', 'age1qyqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqj7vrya\n'],
  ['an encrypted file', 'age-encryption.org/v1\n'],
])('a file of --identity with %s is a usage error', async (_what, identity) => {
  const { fault } = await read(parseVector('x25519').file, { identity });
  expect(fault).toMatchObject({ code: 'usage', message: expect.stringContaining('--identity: '), cause: undefined });
  expect(fault?.message).not.toContain('AGE-');
});

it('an armor without its end is cut off, also after a whole line', async () => {
  const { members, file } = parseVector('armor_full_last_line');
  const cut = file.subarray(0, file.indexOf('\n-----END'));
  const { fault } = await read(cut, { identity: members('identity').join() });
  expect(fault?.message).toContain('truncated (the armor has no end)');
});

it('names the flag of the key that a file needs', async () => {
  const [{ file: x25519 }, { file: scrypt }] = [parseVector('x25519'), parseVector('armor_scrypt')];
  expect((await read(x25519, { passphrase: 'x' })).fault).toMatchObject({ hint: 'set --identity (VAULT_IDENTITY)' });
  const { fault } = await read(scrypt, { identity: await generateX25519Identity() });
  expect(fault).toMatchObject({ code: 'usage', hint: 'set --age-passphrase-file (VAULT_AGE_PASSPHRASE_FILE)' });
});

it.each([
  ['another text', 'x'],
  ['a secret key', `AGE-SECRET-KEY-1${'Q'.repeat(58)}`],
  ['a point of low order', 'age1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq5cu47z'],
  ['another point of low order', 'age1qyqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqj7vrya'],
  ['a key with a typing error', 'age1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq5cu47y'],
  ['a post-quantum key', await identityToRecipient(await generateHybridIdentity())],
])('--recipient rejects %s', async (_what, text) => {
  const flags = { recipient: [text], agePassphraseFile: undefined, weakPassphrase: false, plaintext: false };
  const encryption: unknown = await chooseEncryption(flags, { sharable: false }).catch((error: unknown) => error);
  const message = expect.stringMatching(/^--recipient( age1\w+)? is not an X25519 age public key$/);
  expect(encryption).toMatchObject({ code: 'usage', cause: undefined, message });
});

it('a weak passphrase is rejected', async () => {
  const flags = { recipient: [], agePassphraseFile: write('new', 'short'), weakPassphrase: false, plaintext: false };
  await expect(chooseEncryption(flags, { sharable: false })).rejects.toMatchObject({ code: 'weak_passphrase' });
});
