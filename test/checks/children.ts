import { remoteClient } from '../../src/client/remote.ts';
import type { Check, CheckOptions, Figures } from './check.ts';
import { attackChildren } from './children-attack.ts';
import { startDaemon } from './daemon-process.ts';
import { builtText, withPatch } from './patched-product.ts';
import { createCaller, type Perform } from './perform.ts';
import { serveVault } from './served-vault.ts';

export const ROUNDS = { quick: 24, full: 300 } as const;

/** The part of the built product by which children end with a replaced key, and what leaves them alive. */
const KEEP_CHILDREN = [builtText('parent_id:type==="expiring"?creator.id:void 0'), 'parent_id:void 0'] as const;

async function attack({ seed, quick }: CheckOptions, bin?: string) {
  await using vault = await serveVault();
  const { file, management } = vault;
  const start = (name: string) => startDaemon({ file, readyFile: `${file}.${name}.json`, bin });
  await using one = await start('one');
  await using two = await start('two');
  const clients = [one, two].map(({ url }) => remoteClient({ url }));
  try {
    const daemons = clients.map((client) => createCaller(() => client)) as [Perform, Perform];
    const figures = await attackChildren({ daemons, management, rounds: ROUNDS[quick ? 'quick' : 'full'], seed });
    await vault.requireSound(figures);
    return figures;
  } finally {
    for (const client of clients) await client.close();
  }
}

/** Returns the check by its attack on a file or on a store. The control's product keeps the children of a replaced key. */
export const childrenCheck = (run: (options: CheckOptions, bin?: string) => Promise<Figures>): Check => ({
  number: 34,
  name: 'children of a stolen key',
  quick: true,
  run: (options) => run(options),
  control: (options) => withPatch(KEEP_CHILDREN, (bin) => run(options, bin)),
});

export const CHECK = childrenCheck(attack);
