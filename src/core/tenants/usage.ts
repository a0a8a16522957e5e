import type { Handler } from '../handler.ts';
import { formatInstant } from '../time.ts';
import { monthOf } from '../tokens/activity.ts';

/** Get Tenant Usage Report (§2.8): live tokens by type, and tokens created or shown in this calendar month (UTC). */
export const getUsageReport: Handler<'getUsageReport'> = async (_request, { tenant }, world) => {
  // The report waits for what was noted, so that no read has to.
  await world.activity.flush();
  const now = world.clock.now();
  const { types, active } = await world.store.usage(tenant.record.id, monthOf(now), now);
  const metrics = types.map(({ type, count, last_created_at }) => [
    type,
    { count, ...(last_created_at !== undefined && { last_created_at: formatInstant(last_created_at) }) },
  ]);
  return {
    token_report: {
      metrics_by_type: Object.fromEntries(metrics),
      included_monthly_active_tokens: world.includedActiveTokens,
      monthly_active_tokens: active,
    },
  };
};
