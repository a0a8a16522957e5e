import type { Schema } from '../../contract/schema.ts';
import type { ResultView } from '../output/result-view.ts';

const TEXT: Schema = { type: 'string' };
const NUMBER: Schema = { type: 'integer' };
const SNAPSHOT: Schema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    name: TEXT,
    saved_at: { type: 'string', format: 'date-time' },
    tokens: NUMBER,
    bytes: NUMBER,
    refused: TEXT,
  },
};
const COLUMNS = ['name', 'saved_at', 'tokens', 'bytes'] as const;

/** How the results of `vault snapshot` and `vault reset` are shown. */
export const SNAPSHOT_VIEWS = {
  one: { schema: SNAPSHOT, list: false, columns: COLUMNS, rest: false, idMember: 'name' },
  list: {
    schema: { type: 'object', additionalProperties: false, properties: { data: { type: 'array', items: SNAPSHOT } } },
    list: true,
    columns: [...COLUMNS, 'refused'],
    rest: false,
    idMember: 'name',
  },
  reset: {
    schema: { type: 'object', additionalProperties: false, properties: { removed_tokens: NUMBER } },
    list: false,
    columns: ['removed_tokens'],
    rest: false,
  },
} as const satisfies Record<string, ResultView>;
