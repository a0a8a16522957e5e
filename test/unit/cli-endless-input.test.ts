import { existsSync } from 'node:fs';
import { expect, it } from 'vitest';
import { readKeyFile } from '../../src/cli/credential/read-credential.ts';
import { readSecretFile } from '../../src/cli/files/secret-file.ts';
import { createTextReader } from '../../src/cli/files/text-reader.ts';

const ENDLESS = '/dev/zero';

async function* endless(): AsyncGenerator<Uint8Array> {
  const piece = Buffer.alloc(64 * 1024 ** 2);
  for (;;) yield piece;
}

it('rejects endless standard input before it fills the memory', async () => {
  const read = createTextReader(endless);
  await expect(read('--data', '-')).rejects.toMatchObject({
    code: 'invalid_data',
    message: '--data: the text is longer than 256 MiB',
  });
});

it.runIf(existsSync(ENDLESS))('rejects an endless device in place of a file', async () => {
  const tooLong = { code: 'usage', message: `--api-key-file: ${ENDLESS} is longer than 1024 KiB` };
  await expect(readSecretFile('--api-key-file', ENDLESS)).rejects.toMatchObject(tooLong);
  await expect(readKeyFile(ENDLESS)).rejects.toMatchObject({ code: 'usage' });
  const read = createTextReader(() => process.stdin);
  await expect(read('--body', `@${ENDLESS}`)).rejects.toMatchObject({ code: 'invalid_data' });
});
