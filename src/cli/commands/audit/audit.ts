import type { Command } from 'commander';
import { AUDITED_ACTIONS, type AuditedAction } from '../../../core/audit/audit-event.ts';
import { BrokenAudit, type PlacedEvent } from '../../../core/audit/walk-audit.ts';
import { Fault } from '../../../core/fault.ts';
import { stringifyJson } from '../../../core/json/stringify.ts';
import { nearestName } from '../../../core/nearest-name.ts';
import { formatInstant } from '../../../core/time.ts';
import type { VaultAdmin } from '../../../vault/admin.ts';
import type { Finish } from '../../exit-codes.ts';
import { ANCHOR_FLAGS, addFlags, type Environment, flagValue, isSwitchedOn } from '../../global-flags.ts';
import { requireLines } from '../../output/require-lines.ts';
import { RESULT_VIEWS } from '../../output/result-views.ts';
import { writeOut } from '../../output/write-out.ts';
import { outputPath } from '../../output-path.ts';
import { parseMoment, parseWhole } from '../../quantities.ts';
import { writeWholeFile } from '../../whole-file.ts';
import { defineWithAdmin } from '../on-file.ts';

const LIST_FLAGS = {
  limit: { flag: '--limit <number>', env: 'VAULT_LIMIT', help: 'how many entries at most, from 1 (default: 50)' },
  application: { flag: '--application <id>', env: 'VAULT_AUDIT_APPLICATION', help: 'what this application did' },
  entity: { flag: '--entity <id>', env: 'VAULT_AUDIT_ENTITY', help: 'what was done to this token or application' },
  action: {
    flag: '--action <name>',
    env: 'VAULT_AUDIT_ACTION',
    help: 'only this: createToken, getToken, expireToken, …',
  },
  denied: { flag: '--denied', env: 'VAULT_AUDIT_DENIED', help: 'only calls that were refused' },
  since: { flag: '--since <time>', env: 'VAULT_AUDIT_SINCE', help: 'an ISO 8601 time, or how long ago: 15m, 24h' },
  until: { flag: '--until <time>', env: 'VAULT_AUDIT_UNTIL', help: 'likewise' },
} as const;

type ListFlags = { readonly [K in Exclude<keyof typeof LIST_FLAGS, 'denied'>]?: string } & {
  readonly denied?: boolean;
};

const EXPORT_FLAGS = {
  out: {
    flag: '--out <path>',
    env: 'VAULT_OUT',
    help: 'a new file (0600), whole or not at all; - or left out: stdout',
  },
} as const;

const DEFAULT_LIMIT = '50';

/** `vault audit list`: who did what to which, and how it ended. */
export function defineAuditList(command: Command, finish: Finish): void {
  addFlags(command, LIST_FLAGS);
  defineWithAdmin<ListFlags>(command, finish, RESULT_VIEWS.auditList, async (flags, env) => {
    const limit = parseLimit(flagValue(flags.limit, env, LIST_FLAGS.limit));
    const wanted = filterOf(flags, env);
    return async (admin) => ({ data: (await admin.lastEvents(wanted, limit).catch(damaged)).map(shownEvent) });
  });
}

/** `vault audit verify`: ends with 9 and names the first entry that is not as it was written. */
export function defineAuditVerify(command: Command, finish: Finish): void {
  addFlags(command, ANCHOR_FLAGS);
  defineWithAdmin(
    command,
    finish,
    RESULT_VIEWS.auditVerify,
    async (flags, env) => {
      const anchor = flagValue(flags.anchor, env, ANCHOR_FLAGS.anchor);
      return async (admin) => {
        if (anchor !== undefined) await admin.compareWithAnchor(anchor);
        return verify(admin);
      };
    },
    (result) => ('first_bad' in result ? 9 : 0),
  );
  command.addHelpText(
    'after',
    '\nA tail that was cut is found with --anchor only; `vault doctor` also holds every record against the audit.',
  );
}

/** `vault audit export`: for a log store; each line can be found again by its `sequence`. */
export function defineAuditExport(command: Command, finish: Finish): void {
  addFlags(command, EXPORT_FLAGS);
  defineWithAdmin<{ readonly out?: string }>(command, finish, RESULT_VIEWS.auditExport, async (flags, env) => {
    const out = outputPath(flagValue(flags.out, env, EXPORT_FLAGS.out));
    if (out === undefined) requireLines(flags, 'entries are NDJSON; `vault audit list -o csv` shows some as a table');
    return async (admin) => {
      if (out === undefined) {
        for await (const line of exportedLines(admin)) await writeOut(line);
        return undefined;
      }
      let entries = 0;
      const counted = async function* () {
        for await (const line of exportedLines(admin)) {
          entries += 1;
          yield line;
        }
      };
      await writeWholeFile('--out', out, counted());
      return { file: out, entries };
    };
  });
}

async function verify(admin: VaultAdmin): Promise<object> {
  let last: PlacedEvent | undefined;
  try {
    for await (const placed of admin.events()) last = placed;
  } catch (error) {
    if (!(error instanceof BrokenAudit)) throw error;
    const { sequence, what } = error;
    return { ok: false, entries: last?.sequence ?? 0, first_bad: { sequence, what } };
  }
  return { ok: true, entries: last?.sequence ?? 0, ...(last && { head: hex(last.link) }) };
}

async function* exportedLines(admin: VaultAdmin): AsyncGenerator<string> {
  try {
    for await (const placed of admin.events()) {
      yield `${stringifyJson({ ...shownEvent(placed), link: hex(placed.link) })}\n`;
    }
  } catch (error) {
    damaged(error);
  }
}

function damaged(error: unknown): never {
  if (!(error instanceof BrokenAudit)) throw error;
  throw new Fault('damaged', error.message, { hint: '`vault doctor` names all that is damaged', cause: error });
}

function shownEvent({ sequence, at, event }: PlacedEvent) {
  const { action, status, application_id, tenant_id, peer, revision, entities } = event;
  return {
    sequence,
    at: formatInstant(at),
    action,
    status,
    ...(application_id !== undefined && { application_id }),
    ...(tenant_id !== undefined && { tenant_id }),
    ...(peer !== undefined && { peer }),
    ...(revision !== undefined && { revision }),
    entities,
  };
}

function filterOf(flags: ListFlags, env: Environment): (placed: PlacedEvent) => boolean {
  const value = (name: Exclude<keyof ListFlags, 'denied'>) => flagValue(flags[name], env, LIST_FLAGS[name]);
  const action = parseAction(value('action'));
  const denied = isSwitchedOn(flags.denied, env, LIST_FLAGS.denied);
  const [application, entity] = [value('application')?.toLowerCase(), value('entity')];
  const [since, until] = [parseMoment('--since', value('since')), parseMoment('--until', value('until'))];
  return ({ at, event }) =>
    (action === undefined || event.action === action) &&
    (application === undefined || event.application_id === application) &&
    (entity === undefined || event.entities.includes(entity)) &&
    (!denied || event.status === 403) &&
    (since === undefined || at >= since) &&
    (until === undefined || at < until);
}

function parseAction(text: string | undefined): AuditedAction | undefined {
  const found = AUDITED_ACTIONS.find((action) => action === text);
  if (found !== undefined || text === undefined) return found;
  const nearest = nearestName(text, AUDITED_ACTIONS);
  throw new Fault('usage', `--action: there is no action ${text}`, {
    hint: nearest === undefined ? `one of ${AUDITED_ACTIONS.join(', ')}` : `did you mean ${nearest}?`,
  });
}

function parseLimit(text: string | undefined): number {
  return parseWhole(text ?? DEFAULT_LIMIT, 1, 999_999_999, '--limit (VAULT_LIMIT) is a number from 1');
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}
