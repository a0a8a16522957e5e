import type { Schema } from '../../contract/schema.ts';
import type { ResultView } from '../output/result-view.ts';

const TEXT: Schema = { type: 'string' };
const NUMBER: Schema = { type: 'integer' };
const ENTRY: Schema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    sequence: NUMBER,
    at: { type: 'string', format: 'date-time' },
    action: TEXT,
    status: NUMBER,
    application_id: TEXT,
    tenant_id: TEXT,
    peer: TEXT,
    revision: NUMBER,
    entities: { type: 'array', items: TEXT },
  },
};
const FIRST_BAD: Schema = {
  type: 'object',
  additionalProperties: false,
  properties: { sequence: NUMBER, what: TEXT },
};

/** How the results of `vault audit` are shown. */
export const AUDIT_VIEWS = {
  list: {
    schema: { type: 'object', additionalProperties: false, properties: { data: { type: 'array', items: ENTRY } } },
    list: true,
    columns: ['sequence', 'at', 'action', 'status', 'application_id', 'entities'],
    rest: false,
    idMember: 'sequence',
  },
  verify: {
    schema: {
      type: 'object',
      additionalProperties: false,
      properties: { ok: { type: 'boolean' }, entries: NUMBER, head: TEXT, first_bad: FIRST_BAD },
    },
    list: false,
    columns: ['ok', 'entries'],
    rest: true,
  },
  exported: {
    schema: { type: 'object', additionalProperties: false, properties: { file: TEXT, entries: NUMBER } },
    list: false,
    columns: ['file', 'entries'],
    rest: false,
  },
} as const satisfies Record<string, ResultView>;
