import { describe, expect, it } from 'vitest';
import { createTransferKey, isSealed, type NamedOpener, openPieces, sealPieces } from '../../src/vault/transfer.ts';

const PASSPHRASE = 'correct horse battery';

async function* piecesOf<T>(list: readonly T[]): AsyncGenerator<T> {
  yield* list;
}

async function joined(pieces: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const all: Uint8Array[] = [];
  for await (const piece of pieces) all.push(piece);
  return Buffer.concat(all);
}

const seal = async (named: Parameters<typeof sealPieces>[0], texts: readonly string[]) =>
  joined(await sealPieces(named, piecesOf(texts)));
const open = async (named: NamedOpener, sealed: Uint8Array, step = 1000) => {
  const pieces = Array.from({ length: Math.ceil(sealed.length / step) }, (_, n) =>
    sealed.subarray(n * step, (n + 1) * step),
  );
  return (await joined(await openPieces(named, piecesOf(pieces)))).toString();
};

describe('a sealed stream', () => {
  it.each([
    ['nothing', []],
    ['a little', ['one\n', 'two ✓\n']],
    ['exactly a chunk', ['x'.repeat(64 * 1024)]],
    ['many chunks', Array.from({ length: 9 }, (_, n) => `${n}`.repeat(30_000))],
  ])('returns %s with the key that it was sealed for', async (_what, texts) => {
    const { secret, recipient } = await createTransferKey();
    const sealed = await seal({ recipient }, texts);
    expect(await isSealed(sealed)).toBe(true);
    expect(await open({ secret: `${secret}\n` }, sealed)).toBe(texts.join(''));
    expect(await open({ secret }, sealed, 7_777)).toBe(texts.join(''));
    if (texts.length > 0) expect(sealed.includes(texts[0] ?? '')).toBe(false);
  });

  it('opens only with its passphrase; a weak passphrase is rejected', async () => {
    const sealed = await seal({ passphrase: PASSPHRASE }, ['secret']);
    expect(await open({ passphrase: PASSPHRASE }, sealed)).toBe('secret');
    await expect(open({ passphrase: 'another horse battery' }, sealed)).rejects.toMatchObject({
      code: 'wrong_credential',
    });
    await expect(seal({ passphrase: 'short' }, [])).rejects.toMatchObject({ code: 'weak_passphrase' });
  });

  it('opens only with its key and names the flag for it', async () => {
    const [one, two] = [await createTransferKey(), await createTransferKey()];
    const sealed = await seal({ recipient: one.recipient }, ['secret']);
    await expect(open({ secret: two.secret }, sealed)).rejects.toMatchObject({ code: 'wrong_credential' });
    await expect(open({ passphrase: PASSPHRASE }, sealed)).rejects.toMatchObject({ hint: 'set --identity' });
    await expect(open({ secret: one.recipient }, sealed)).rejects.toMatchObject({ code: 'wrong_credential' });
    await expect(seal({ recipient: one.secret }, [])).rejects.toMatchObject({ code: 'usage' });
  });

  it('is rejected with any byte changed and at any shorter length', async () => {
    const { secret, recipient } = await createTransferKey();
    const sealed = await seal({ recipient }, ['some rows\n']);
    for (let at = 0; at < sealed.length; at += 1) {
      const altered = Buffer.from(sealed);
      altered[at] = (altered[at] ?? 0) ^ 0x01;
      await expect(open({ secret }, altered), `byte ${at}`).rejects.toMatchObject({ name: 'Fault' });
      await expect(open({ secret }, sealed.subarray(0, at)), `cut at ${at}`).rejects.toMatchObject({ code: 'damaged' });
    }
    await expect(open({ secret }, Buffer.concat([sealed, Buffer.from([0])]))).rejects.toMatchObject({
      code: 'damaged',
    });
  });

  it('that ends between two chunks yields the first and then fails', async () => {
    const { secret, recipient } = await createTransferKey();
    const sealed = await seal({ recipient }, ['y'.repeat(100_000)]);
    const head = 6 + 80 + 24;
    const first = head + 4 + sealed.readUInt32BE(head);
    expect(first).toBeLessThan(sealed.length);
    const given: Uint8Array[] = [];
    const read = async () => {
      for await (const piece of await openPieces({ secret }, piecesOf([sealed.subarray(0, first)]))) given.push(piece);
    };
    await expect(read()).rejects.toMatchObject({ code: 'damaged' });
    expect(Buffer.concat(given).toString()).toBe('y'.repeat(64 * 1024));
  });

  it('rejects derivation costs beyond the limits of the machine', async () => {
    const sealed = await seal({ passphrase: PASSPHRASE }, ['secret']);
    sealed.writeUInt32BE(0xffffffff, 6 + 4);
    await expect(open({ passphrase: PASSPHRASE }, sealed)).rejects.toMatchObject({ code: 'damaged' });
  });
});
