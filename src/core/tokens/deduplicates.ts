import type { OpenedTenant } from '../tenants/opened-tenant.ts';

/** Whether a write looks for a token of the same content (decisions §7): the request's own word, else the tenant's setting. */
export function deduplicates(
  { deduplicate_token }: { readonly deduplicate_token?: boolean | null | undefined },
  { details }: OpenedTenant,
): boolean {
  return deduplicate_token ?? details.settings.deduplicate_tokens === 'true';
}
