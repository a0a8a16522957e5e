import { reachesEveryContainer } from '../access/grants.ts';
import { untilSwapped } from '../compare-and-swap.ts';
import type { Handler } from '../handler.ts';
import { Problem } from '../problem.ts';
import { recordColumns } from './clear-columns.ts';
import { openPresented } from './token-codec.ts';

/** Delete Token (§4.1, §3): removes the data permanently and keeps a tombstone for the audit. */
export const deleteToken: Handler<'deleteToken'> = async (
  { params: { id } },
  { application, tenant, grants, recorder },
  context,
) => {
  const tenant_id = tenant.record.id;
  // Write recorded activity first: a token that was presented this month still counts after its deletion (decisions
  // §8).
  await context.activity.flush();
  await untilSwapped(async () => {
    const record = await context.store.findToken(tenant_id, id, context.clock.cutoff());
    if (!record) throw new Problem('token_not_found');
    const columns = recordColumns(record);
    const { containers } = openPresented(tenant.keyring, id, record, columns).details;
    if (!reachesEveryContainer(grants, 'token:delete', { id, containers })) throw new Problem('no_governing_rule');
    const { type, created_by, created_at } = columns;
    const deleted_by = application.record.id;
    const kept = { tenant_id, id, type, created_by, created_at, deleted_by, deleted_at: context.clock.now() };
    const tombstone = { ...kept, mac: context.keyring.tombstoneMac(kept) };
    const { revision } = record;
    return (await context.store.deleteToken(tombstone, revision, recorder.removed([{ id, revision }]))) || undefined;
  });
  return undefined;
};
