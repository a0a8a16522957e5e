import { openVault } from '../../src/vault.ts';
import { inParallel } from '../checks/perform.ts';

/** Makes tokens with these ids on the file itself: through the command line each would be a process. */
export async function makeTokens(file: string, key: Uint8Array, apiKey: string, ids: readonly string[]): Promise<void> {
  const vault = await openVault({ file, credential: { kind: 'key_file', key: new Uint8Array(key) } });
  try {
    await inParallel(ids.length, 64, async (at) => {
      const bodyText = JSON.stringify({ id: ids[at], type: 'token', data: { at, filling: 'x'.repeat(200) } });
      const call = {
        operation: 'createToken',
        apiKey,
        mediaType: 'application/json',
        params: {},
        query: [],
        bodyText,
      } as const;
      const { status } = await vault.dispatch(call);
      if (status !== 201) throw new Error(`a token was answered ${status}`);
    });
  } finally {
    await vault.close();
  }
}
