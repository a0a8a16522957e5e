import { directClient } from '../../src/client/direct.ts';
import type { OperationId } from '../../src/contract/operations.ts';
import type { ArchiveFile } from '../../src/history/audit-archive.ts';
import { openVaultAdmin, type VaultAdmin } from '../../src/vault/admin.ts';
import type { Vault } from '../../src/vault/vault.ts';
import type { SteppingClock } from '../fixed-world.ts';
import type { HistoryLocation } from './histories-location.ts';
import type { Draw } from './model-fuzz-bodies.ts';
import { createCaller, EVERYTHING, type Perform, type PerformParts } from './perform.ts';

const HOUR = 3_600_000;

export interface CallingTenant {
  readonly id: string;
  /** The API keys in use; absent when one must be made first. */
  management?: string | undefined;
  everything?: string | undefined;
  /** The ids of further applications and of tokens, some of them deleted. */
  readonly applications: string[];
  readonly tokens: string[];
}

export interface Target {
  readonly kind: string;
  readonly tenantId: string;
  readonly id: string;
}

interface Caller {
  /** The record of most calls on records of its kind. */
  readonly target: Target | undefined;
  readonly location: HistoryLocation;
  readonly vault: Vault;
  readonly clock: SteppingClock;
  readonly tenants: CallingTenant[];
}

/** Makes a call. Rejects when the vault cannot answer it. */
const ask = ({ vault }: Caller, ...call: Parameters<Perform>) => createCaller(() => directClient(vault), [])(...call);

/** Calls with the tenant's management key. Forgets a key that no longer opens. */
async function manage(caller: Caller, tenant: CallingTenant, operation: OperationId, parts?: PerformParts) {
  tenant.management ??= (await caller.vault.issueKey(tenant.id)).key ?? '';
  const reply = await ask(caller, tenant.management, operation, parts);
  if (reply.status === 401) tenant.management = undefined;
  return reply;
}

/** Calls with the key of an application that may do everything with tokens. Creates it first if necessary. */
async function use(caller: Caller, tenant: CallingTenant, operation: OperationId, parts?: PerformParts) {
  if (tenant.everything === undefined) {
    const body = { ...EVERYTHING, can_create_expiring_applications: true };
    const made = await manage(caller, tenant, 'createApplication', { body });
    if (made.status !== 201) return made;
    tenant.everything = String(made.body['key']);
    tenant.applications.push(String(made.body['id']));
  }
  const reply = await ask(caller, tenant.everything, operation, parts);
  if (reply.status === 401) tenant.everything = undefined;
  return reply;
}

async function asHolder({ location, clock }: Caller, work: (admin: VaultAdmin) => Promise<unknown>): Promise<void> {
  const admin = await openVaultAdmin({ ...location.holder, clock });
  try {
    await work(admin);
  } finally {
    await admin.close();
  }
}

function memoryArchive(): ArchiveFile {
  let text: string | undefined;
  return {
    path: 'archive',
    exists: () => text !== undefined,
    async write(pieces) {
      const written = [];
      for await (const piece of pieces) written.push(piece);
      text = written.join('');
    },
    async *lines(start = 0) {
      yield* (text ?? '').slice(start).split(/(?<=\n)/);
    },
  };
}

class Interrupted extends Error {}

/** Rotates keys. Sometimes stops in between, as a killed process does. */
async function rotate(caller: Caller, draw: Draw): Promise<void> {
  const options = { tenantId: draw.one(caller.tenants).id, indexes: draw.chance(0.3), master: false };
  let left = draw.chance(0.3) ? 1 + draw.below(3) : Number.POSITIVE_INFINITY;
  const progress = () => {
    left -= 1;
    if (left === 0) throw new Interrupted();
  };
  await asHolder(caller, (admin) => admin.rotate(options, progress)).catch((error: unknown) => {
    if (!(error instanceof Interrupted)) throw error;
  });
}

async function changeSlots(admin: VaultAdmin, draw: Draw): Promise<unknown> {
  const other = (await admin.slots()).find(({ current }) => !current);
  if (other !== undefined && draw.chance(0.6)) return admin.removeSlot(other.slot);
  const key = new Uint8Array(32).map(() => draw.below(256));
  return admin.addSlot({ kind: 'key_file', key }, { allowWeak: false });
}

/** A change or a read. Resolves to the id of a tenant whose tokens it removed. */
type Action = (caller: Caller, draw: Draw) => Promise<unknown>;

const tenantOf = ({ tenants }: Caller, draw: Draw) => draw.one(tenants);

/** Draws a tenant and the id of one of its records, which may be deleted. Returns undefined if it has none yet. */
function recordOf(caller: Caller, draw: Draw, kind: 'token' | 'application') {
  const { target, tenants } = caller;
  const owner = tenants.find(({ id }) => id === target?.tenantId);
  if (target?.kind === kind && owner !== undefined && draw.chance(0.8)) return [owner, target.id] as const;
  const tenant = tenantOf(caller, draw);
  if (tenant[`${kind}s`].length === 0) return undefined;
  return [tenant, draw.one(tenant[`${kind}s`])] as const;
}

const named = (draw: Draw) => ({ name: `name ${draw.below(1_000_000)}` });
const iso = (instant: number) => new Date(instant).toISOString();

export const ACTIONS: readonly (readonly [[name: string, action: Action], weight: number])[] = [
  [['create token', createToken], 8],
  [['update token', (caller, draw) => onToken(caller, draw, 'updateToken', { data: `data ${draw.below(1e9)}` })], 8],
  [['delete token', (caller, draw) => onToken(caller, draw, 'deleteToken')], 4],
  [['read token', (caller, draw) => onToken(caller, draw, 'getToken')], 3],
  [['create application', createApplication], 2],
  [['create child', createChild], 2],
  [['update application', (caller, draw) => onApplication(caller, draw, 'updateApplication', named(draw))], 2],
  [['regenerate key', (caller, draw) => onApplication(caller, draw, 'regenerateApplicationKey')], 2],
  [['create key', (caller, draw) => onApplication(caller, draw, 'createApplicationKey')], 1],
  [['delete key', deleteKey], 1],
  [['delete application', (caller, draw) => onApplication(caller, draw, 'deleteApplication')], 2],
  [
    [
      'update tenant',
      (caller, draw) => manage(caller, tenantOf(caller, draw), 'updateTenant', { body: tenantBody(draw) }),
    ],
    1,
  ],
  [['create tenant', createTenant], 1],
  [['delete tenant', deleteTenant], 0.5],
  [['issue key', async (caller, draw) => void (await caller.vault.issueKey(tenantOf(caller, draw).id))], 0.5],
  [['expire', expire], 1.5],
  [['rotate', rotate], 1],
  [
    ['replace the master key', (caller) => asHolder(caller, (admin) => admin.rotate({ indexes: false, master: true }))],
    0.3,
  ],
  [['change slots', (caller, draw) => asHolder(caller, (admin) => changeSlots(admin, draw))], 1],
  [['reset', reset], 1],
];

export const actionsOn = ({ kind }: Target) =>
  ACTIONS.filter(([[name]]) => /^(?:update|delete) /.test(name) && name.endsWith(kind));

const tenantBody = (draw: Draw) => ({ ...named(draw), settings: {} });

async function onToken(caller: Caller, draw: Draw, operation: OperationId, body?: object): Promise<void> {
  const found = recordOf(caller, draw, 'token');
  if (found === undefined) return createToken(caller, draw);
  const [tenant, id] = found;
  await use(caller, tenant, operation, { id, ...(body && { body }) });
}

async function onApplication(caller: Caller, draw: Draw, operation: OperationId, body?: object): Promise<void> {
  const found = recordOf(caller, draw, 'application');
  if (found === undefined) return createApplication(caller, draw);
  const [tenant, id] = found;
  await manage(caller, tenant, operation, { id, ...(body && { body }) });
}

async function deleteKey(caller: Caller, draw: Draw): Promise<void> {
  const found = recordOf(caller, draw, 'application');
  if (found === undefined) return createApplication(caller, draw);
  const [tenant, id] = found;
  const { list: keys } = await manage(caller, tenant, 'listApplicationKeys', { id });
  if (keys.length === 0) return;
  const { id: keyId } = draw.one(keys) as { readonly id: string };
  await manage(caller, tenant, 'deleteApplicationKey', { id, keyId });
}

async function createToken(caller: Caller, draw: Draw): Promise<void> {
  const tenant = tenantOf(caller, draw);
  const id = draw.chance(0.7) ? `t${draw.below(6)}` : `t${draw.below(1e9)}`;
  const expires = draw.chance(0.25) && { expires_at: iso(caller.clock.now() + HOUR) };
  const body = { id, type: 'token', data: `data ${draw.below(1e9)}`, ...expires };
  if ((await use(caller, tenant, 'createToken', { body })).status === 201) tenant.tokens.push(id);
}

async function createApplication(caller: Caller, draw: Draw): Promise<void> {
  const tenant = tenantOf(caller, draw);
  const body = { ...named(draw), type: 'private', permissions: ['token:read'] };
  const made = await manage(caller, tenant, 'createApplication', { body });
  if (made.status === 201) tenant.applications.push(String(made.body['id']));
}

async function createChild(caller: Caller, draw: Draw): Promise<void> {
  const tenant = tenantOf(caller, draw);
  const expires_at = iso(caller.clock.now() + HOUR);
  const condition = { attribute: 'container', operator: 'starts_with', value: '/' };
  const rule = {
    description: '',
    priority: 1,
    conditions: [condition],
    transform: 'mask',
    permissions: ['token:read'],
  };
  const body = { ...named(draw), type: 'expiring', expires_at, rules: [rule] };
  const made = await use(caller, tenant, 'createApplication', { body });
  if (made.status === 201) tenant.applications.push(String(made.body['id']));
}

async function createTenant(caller: Caller, draw: Draw): Promise<void> {
  const { tenant, application } = await caller.vault.createTenant(named(draw).name);
  caller.tenants.push({ id: tenant.id, management: application.key, applications: [], tokens: [] });
}

async function deleteTenant(caller: Caller, draw: Draw): Promise<void> {
  if (caller.tenants.length < 2) return;
  const tenant = tenantOf(caller, draw);
  const { status } = await manage(caller, tenant, 'deleteTenant');
  if (status < 300) caller.tenants.splice(caller.tenants.indexOf(tenant), 1);
}

async function expire({ vault, clock }: Caller): Promise<void> {
  clock.advance(2 * HOUR);
  await vault.sweep();
}

async function reset({ location, clock, ...caller }: Caller, draw: Draw): Promise<string | undefined> {
  const { id } = draw.one(caller.tenants);
  await location.reset?.(id, clock);
  return location.reset && id;
}

/** Removes the entries before a time, each prune into an archive of its own. */
export function prune(caller: Caller, before: number): Promise<void> {
  return asHolder(caller, (admin) => admin.pruneAudit(before, memoryArchive()));
}
