import type { Application } from '../contract/application.ts';
import type { Call, Client, Reply } from '../contract/call.ts';
import type { DevRequest } from '../contract/dev-paths.ts';
import { OPERATIONS, type Operation } from '../contract/operations.ts';
import type { Permission } from '../contract/permissions.ts';
import { PROBLEM_TYPE_PREFIX } from '../contract/problems.ts';
import { Fault } from '../core/fault.ts';
import { invalid, Problem } from '../core/problem.ts';
import { problemReply } from '../core/problem-reply.ts';
import type { SendToDev } from '../http/endpoints.ts';

/** An API key of a session, with its application if the key may read it. */
interface Identity {
  readonly n: number;
  readonly apiKey: string;
  applicationId: string | undefined;
  application: Application | undefined;
  /** Whether the key has been used to look up its own application. */
  isAsked: boolean;
}

/** An identity as the page sees it, without the key. */
export type ShownIdentity = { readonly n: number } & Partial<
  Pick<Application, 'id' | 'name' | 'type' | 'permissions' | 'rules'>
>;

export type Identities = ReturnType<typeof createIdentities>;

/** Creates the store of a session's API keys. The page refers to a key by its number. */
export function createIdentities(client: Client, apiKeys: readonly string[], sendToDev?: SendToDev | undefined) {
  let next = 0;
  let identities: readonly Identity[] = [];
  for (const apiKey of apiKeys) append(apiKey);

  function append(apiKey: string): Identity {
    const identity = { n: next++, apiKey, applicationId: undefined, application: undefined, isAsked: false };
    identities = [...identities, identity];
    return identity;
  }

  async function callAs(identity: Identity, call: Call): Promise<Reply> {
    const { apiKey } = identity;
    const onCaller = (id: string | undefined) => {
      identity.applicationId = id;
    };
    try {
      return await client.call({ ...call, apiKey, fromBrowser: undefined, peer: 'console', onCaller });
    } catch (cause) {
      const isGone = cause instanceof Fault && cause.code === 'unreachable';
      throw isGone
        ? new Problem('vault_busy', { detail: `The vault does not answer: ${cause.message}.`, cause })
        : cause;
    }
  }

  /**
   * Makes a call as the identity whose number is in `call.apiKey`, or without a number as the first identity that holds
   * the permission.
   */
  async function call(call: Call): Promise<Reply> {
    if (call.apiKey !== undefined) {
      const chosen = identities.find(({ n }) => String(n) === call.apiKey);
      if (chosen !== undefined) return asChosen(chosen, call);
      return problemReply(invalid('X-Vault-As', 'is not an identity of this session'), call.traceId ?? '');
    }
    const { permission }: Operation = OPERATIONS[call.operation];
    return asFirst(permission, call.traceId ?? '', (identity) => callAs(identity, call));
  }

  /**
   * Makes a call as the chosen identity. Returns 403 if its key is no longer valid, since a 401 would lock the page.
   */
  async function asChosen(chosen: Identity, call: Call): Promise<Reply> {
    const reply = await callAs(chosen, call);
    if (reply.status !== 401) return reply;
    const detail = 'The vault no longer accepts the API key of this identity.';
    return problemReply(new Problem('permission_missing', { detail }), reply.traceId);
  }

  /**
   * Makes a call as the first identity that may hold the permission. Skips the others, because a denied call leaves an
   * entry in the audit.
   */
  async function asFirst(
    permission: Permission | undefined,
    traceId: string,
    send: (identity: Identity) => Promise<Reply>,
  ): Promise<Reply> {
    for (const identity of identities) {
      if (!mayHold(identity, permission)) continue;
      const reply = await send(identity);
      if (!isNotAllowed(reply)) return reply;
    }
    const detail = 'No API key of the console holds the required permission.';
    return problemReply(new Problem('permission_missing', { detail }), traceId);
  }

  /** Sends a request to the dev controls with the first identity that may read the tenant. */
  async function callDev(request: Omit<DevRequest, 'apiKey'>, traceId: string): Promise<Reply> {
    if (sendToDev === undefined) {
      const detail = 'Only `vault serve --dev` has dev controls.';
      return problemReply(new Problem('route_not_found', { detail }), traceId);
    }
    return asFirst('tenant:read', traceId, ({ apiKey }) => sendToDev({ ...request, apiKey }, traceId));
  }

  /**
   * Looks up the application of an identity, with another key if its own may not read applications: a denied call
   * leaves an entry in the audit. Resolves to the status of the first call, which is 401 when the key is not valid.
   */
  async function learn(identity: Identity): Promise<number> {
    const asks = { params: {}, query: [] };
    const first = await callAs(identity, { operation: 'listPermissions', ...asks });
    if (first.status !== 200) return first.status;
    const { applicationId: id } = identity;
    const reader = identities.find(({ application }) => application?.permissions.includes('application:read'));
    if (reader === undefined && identity.isAsked) return first.status;
    identity.isAsked = true;
    const found =
      reader === undefined || id === undefined
        ? await callAs(identity, { operation: 'getApplicationByKey', ...asks })
        : await callAs(reader, { operation: 'getApplication', params: { id }, query: [] });
    if (found.status === 200) identity.application = JSON.parse(found.bodyText ?? '');
    return first.status;
  }

  return {
    client: { call, close: async () => undefined } satisfies Client,
    callDev,

    /** Resolves to all identities whose keys are still valid, with their applications. */
    async describe(): Promise<readonly ShownIdentity[]> {
      const shown: ShownIdentity[] = [];
      for (const identity of identities) {
        if ((await learn(identity)) === 401) continue;
        const { n, applicationId: id, application } = identity;
        if (application === undefined) shown.push({ n, ...(id !== undefined && { id }) });
        else {
          const { name, type, permissions, rules } = application;
          shown.push({ n, id: application.id, name, type, permissions, rules });
        }
      }
      return shown;
    },

    /**
     * Adds an API key. Throws `invalid_request` for a key that is not valid, and `vault_busy` when the vault cannot
     * check it.
     */
    async add(apiKey: string): Promise<void> {
      const identity = append(apiKey);
      let status: number | undefined;
      try {
        status = await learn(identity);
      } finally {
        if (status !== 200) remove(identity.n);
      }
      if (status === 401) throw invalid('key', 'is not an API key of this vault');
      if (status !== 200) throw new Problem('vault_busy');
    },

    remove,
  };

  function remove(n: number): void {
    identities = identities.filter((each) => each.n !== n);
  }
}

/**
 * Returns whether the application holds the permission, directly or through a rule. Returns true for an unknown
 * application.
 */
function mayHold({ application }: Identity, permission: Permission | undefined): boolean {
  if (application === undefined || permission === undefined) return true;
  const { permissions, rules } = application;
  return permissions.includes(permission) || rules.some((rule) => rule.permissions.includes(permission));
}

/**
 * Returns whether the vault rejected the key itself: it is invalid or lacks the permission. Another key may succeed.
 */
function isNotAllowed({ status, bodyText = '' }: Reply): boolean {
  return status === 401 || (status === 403 && bodyText.includes(`${PROBLEM_TYPE_PREFIX}permission_missing`));
}
