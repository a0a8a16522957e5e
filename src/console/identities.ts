import type { Application } from '../contract/application.ts';
import type { Call, Client, Reply } from '../contract/call.ts';
import type { DevRequest } from '../contract/dev-paths.ts';
import { OPERATIONS, type Operation } from '../contract/operations.ts';
import type { Permission } from '../contract/permissions.ts';
import { PROBLEM_TYPE_PREFIX } from '../contract/problems.ts';
import { Fault } from '../core/fault.ts';
import { invalid, Problem, problemReply } from '../core/problem.ts';
import type { SendToDev } from '../http/endpoints.ts';
import type { HeldIdentity } from './about.ts';

/** An API key of a console. */
export interface ConsoleKey extends Pick<HeldIdentity, 'source' | 'flag' | 'variable'> {
  readonly apiKey: string;
}

/** An API key of a session, with its application if the key may read it. */
interface Identity extends ConsoleKey {
  readonly n: number;
  applicationId: string | undefined;
  application: Application | undefined;
  /** Whether the key has been used to look up its own application. */
  isAsked: boolean;
  /** Whether the vault no longer accepts the key. */
  isEnded: boolean;
}

export type Identities = ReturnType<typeof createIdentities>;

/** Creates the store of a session's API keys. The page refers to a key by its number. */
export function createIdentities(client: Client, keys: readonly ConsoleKey[], sendToDev?: SendToDev | undefined) {
  let next = 0;
  let pasted = 0;
  let identities: readonly Identity[] = [];
  for (const key of keys) append(key);

  function append(key: ConsoleKey): Identity {
    const unknown = { applicationId: undefined, application: undefined, isAsked: false, isEnded: false };
    const identity = { ...key, n: next++, ...unknown };
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

  /** Makes a call as the chosen identity. A 401 names the key that is no longer valid. */
  async function asChosen(chosen: Identity, call: Call): Promise<Reply> {
    const reply = await callAs(chosen, call);
    return reply.status === 401 ? endedReply([chosen], reply.traceId) : reply;
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
    const able = identities.filter((identity) => mayHold(identity, permission));
    for (const identity of able) {
      const reply = await send(identity);
      identity.isEnded = reply.status === 401;
      if (!isNotAllowed(reply)) return reply;
    }
    const ended = able.filter(({ isEnded }) => isEnded);
    if (ended.length > 0) return endedReply(ended, traceId);
    const detail = `No API key of the console holds ${permission ?? 'the required permission'}.`;
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

    /** Resolves to all identities with their applications. The key of an `ended` one is no longer valid. */
    async describe(): Promise<readonly HeldIdentity[]> {
      const shown: HeldIdentity[] = [];
      for (const identity of identities) {
        const ended = (await learn(identity)) === 401;
        const { apiKey: _secret, isAsked, isEnded, applicationId: id, application, ...named } = identity;
        const own = { ...named, ...(ended && { ended }) };
        if (application === undefined) shown.push({ ...own, ...(id !== undefined && { id }) });
        else {
          const { name, type, permissions, rules } = application;
          shown.push({ ...own, id: application.id, name, type, permissions, rules });
        }
      }
      return shown;
    },

    /**
     * Adds an API key. Throws `invalid_request` for a key that is not valid, and `vault_busy` when the vault cannot
     * check it.
     */
    async add(apiKey: string): Promise<void> {
      pasted += 1;
      const identity = append({ apiKey, source: `pasted key ${pasted}` });
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

/** Returns the reply to a call for which only keys were left that the vault no longer accepts. */
function endedReply(ended: readonly Identity[], traceId: string): Reply {
  const names = ended.map(({ application, source }) => application?.name ?? source).join(' and ');
  const detail = `The API key of ${names} no longer works: it was deleted or regenerated, or has expired. Add a key.`;
  return problemReply(new Problem('unauthenticated', { detail }), traceId);
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
