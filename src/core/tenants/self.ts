import { untilSwapped } from '../compare-and-swap.ts';
import type { Handler } from '../handler.ts';
import { Problem } from '../problem.ts';
import { checkReadOnly } from '../request/check-read-only.ts';
import { formatInstant } from '../time.ts';
import { monthOf } from '../tokens/activity.ts';
import { openTenant, sealTenant, showTenant } from './tenant-codec.ts';

/** Get a Tenant (§4.3): returns the tenant of the calling application. */
export const getTenant: Handler<'getTenant'> = async (_request, { tenant }) => showTenant(tenant);

/**
 * Update Tenant (§4.3): replaces the name and the settings; keeps the settings when the body has none (decisions §8).
 */
export const updateTenant: Handler<'updateTenant'> = async ({ body }, { application, tenant, recorder }, context) => {
  const { id } = tenant.record;
  return untilSwapped(async () => {
    const found = await context.store.findTenant(id);
    // The tenant was deleted after authentication, so the caller's key is no longer valid.
    if (!found) throw new Problem('unauthenticated');
    if (!(await context.follower.isCurrent('tenant', { ...found.tenant, tenant_id: id }))) return undefined;
    const opened = openTenant(tenant.keyring, id, found.tenant);
    checkReadOnly('updateTenant', body, showTenant(opened));
    const { record, details } = opened;
    const modified = { modified_by: application.record.id, modified_at: context.clock.now() };
    const next = { ...record, ...modified, revision: record.revision + 1 };
    const { name, settings = details.settings } = body;
    const changed = sealTenant(tenant.keyring, next, { name, settings });
    const reply = showTenant(changed);
    const audit = recorder.changedAuthority([], next.revision);
    return (await context.store.replaceTenant(changed.record, record.revision, audit)) ? reply : undefined;
  });
};

/**
 * Delete Tenant (§4.3, decisions §8): removes the tenant's keys, applications and tokens at once. Without its keys,
 * copies of the tenant's data can no longer be opened.
 */
export const deleteTenant: Handler<'deleteTenant'> = async (_request, { tenant, recorder }, context) => {
  if (!(await context.store.deleteTenant(tenant.record.id, recorder.changedAuthority([]))))
    throw new Problem('unauthenticated');
  return undefined;
};

/**
 * Get Tenant Usage Report (§2.8): counts the live tokens by type, and the tokens created or presented in this calendar
 * month (UTC).
 */
export const getUsageReport: Handler<'getUsageReport'> = async (_request, { tenant }, context) => {
  // Write the activity of earlier reads now, because reads do not wait for this write.
  await context.activity.flush();
  const { clock, store } = context;
  const { types, active } = await store.usage(tenant.record.id, monthOf(clock.now()), clock.cutoff());
  const metrics = types.map(({ type, count, last_created_at }) => [
    type,
    { count, ...(last_created_at !== undefined && { last_created_at: formatInstant(last_created_at) }) },
  ]);
  return {
    token_report: {
      metrics_by_type: Object.fromEntries(metrics),
      included_monthly_active_tokens: context.includedActiveTokens,
      monthly_active_tokens: active,
    },
  };
};

/** Returns the number of active tokens by calendar month (UTC), oldest first. */
export const getActivity: Handler<'getActivity'> = async ({ query: { months: count = 12 } }, { tenant }, context) => {
  await context.activity.flush();
  const now = context.clock.now();
  const last = monthOf(now);
  const months = Array.from({ length: count }, (_, at) => last - count + 1 + at);
  const usage = await Promise.all(months.map((month) => context.store.usage(tenant.record.id, month, now)));
  return {
    months: months.map((month, at) => ({ month: nameOfMonth(month), active_tokens: usage[at]?.active ?? 0 })),
  };
};

/** Returns a month as text: `2026-03`. */
function nameOfMonth(month: number): string {
  return `${String(Math.floor(month / 12)).padStart(4, '0')}-${String((month % 12) + 1).padStart(2, '0')}`;
}
