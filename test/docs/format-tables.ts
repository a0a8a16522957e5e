import { AUDITED_ACTIONS, type AuditedAction, changeOf, encodeEvents } from '../../src/core/audit/audit-event.ts';
import { readTable } from '../vectors/read-vectors.ts';
import { code, table } from './markdown.ts';

/** The change of the sums by an action. Actions without a change are left out. */
function actionRow(action: AuditedAction): readonly (readonly string[])[] {
  const event = { action, status: 200, entities: [] };
  const [letters = ''] = encodeEvents([{ at: 0, event }]).split('\n');
  const change = changeOf({ ...event, revision: 1 });
  return [[code(letters), code(action), change === undefined ? '' : change.join(', ')]];
}

/** Returns the table of a part of `format.txt`. */
function vectorTable(part: string): string {
  const rows = readTable('format').filter((row) => row.part === part);
  const heads = (rows[0]?.origin ?? '').split(' → ');
  return table(
    heads,
    rows.map(({ fields }) => fields.map((field) => (field === '' ? '' : code(field)))),
  );
}

const PARTS = [...new Set(readTable('format').map(({ part }) => part))];

/** The generated tables of docs/format.md. */
export const FORMAT_TABLES: Readonly<Record<string, () => string>> = {
  'format-actions': () => table(['code', 'action', 'change'], AUDITED_ACTIONS.flatMap(actionRow)),
  ...Object.fromEntries(PARTS.map((part) => [`format-${part}`, () => vectorTable(part)])),
};
