import type { AuditHead, ChainRecorder } from '../../src/core/audit/ports.ts';
import type { Store, VaultHeader } from '../../src/core/ports.ts';
import { createVaultStore, openVaultStore } from '../../src/store/postgres/open-vault-store.ts';
import { parseStoreUrl } from '../../src/store/postgres/store-url.ts';
import type { AtEnd } from '../temporary-folder.ts';
import { createDatabase } from './create-database.ts';

/** The numbers of writes after which a process ends its chain, and after which the root records the open chains. */
const [WRITES_PER_CHAIN, WRITES_PER_NOTE] = [15, 7];

/** The writes that each process makes on its own chain. */
const ON_CHAIN = [
  ...(['insertApplication', 'replaceApplication', 'deleteApplication', 'appendAudit'] as const),
  ...(['insertToken', 'insertTokens', 'replaceToken', 'deleteToken'] as const),
] satisfies readonly (keyof Store)[];

let database: Promise<string> | undefined;
let schemas = 0;

/**
 * Opens a store to which this number of processes write in turn. Each has its own chain, and is soon replaced by
 * another. A process that only writes to the root chain answers the other calls.
 */
export async function openRollingStore(header: VaultHeader, processes: number, atEnd: AtEnd): Promise<Store> {
  database ??= createDatabase();
  const url = parseStoreUrl(`${await database}?sslmode=disable&schema=rolling_${schemas++}`);
  await createVaultStore(url, header, async () => undefined, { insecure: true });
  let recorder: ChainRecorder | undefined;
  async function open(writesOnRoot: number): Promise<Store> {
    const { store } = await openVaultStore(url, { insecure: true, writesOnRoot });
    if (recorder !== undefined) store.useChainRecorder(recorder);
    return store;
  }

  const root = await open(Number.POSITIVE_INFINITY);
  const writers = await Promise.all(
    Array.from({ length: processes }, async () => ({ store: await open(0), writes: 0 })),
  );
  let turn = 0;

  async function note({ noted }: ChainRecorder): Promise<void> {
    const ends = await Promise.all(writers.map(({ store }) => store.lastChange()));
    const heads = ends.flatMap(({ chain = '0', counter, mark }): AuditHead[] =>
      chain === '0' ? [] : [{ chain, sequence: counter, link: mark }],
    );
    if (heads.length > 0) await root.appendAudit([noted(heads)]);
  }

  async function nextWriter(): Promise<Store> {
    turn += 1;
    if (turn % WRITES_PER_NOTE === 0 && recorder !== undefined) await note(recorder);
    const writer = writers[turn % processes];
    if (writer === undefined) throw new Error('a store needs a process');
    if (writer.writes === WRITES_PER_CHAIN) {
      await writer.store.close();
      Object.assign(writer, { store: await open(0), writes: 0 });
    }
    writer.writes += 1;
    return writer.store;
  }

  const onChain = ON_CHAIN.map((name) => [
    name,
    async (...values: unknown[]) => Reflect.apply((await nextWriter())[name], undefined, values),
  ]);
  const close = async () =>
    void (await Promise.all([root, ...writers.map(({ store }) => store)].map((s) => s.close())));
  atEnd(close);
  return {
    ...root,
    ...Object.fromEntries(onChain),
    close,
    useChainRecorder(used) {
      recorder = used;
      for (const store of [root, ...writers.map((writer) => writer.store)]) store.useChainRecorder(used);
    },
  };
}
