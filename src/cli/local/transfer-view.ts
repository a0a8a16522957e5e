import type { Schema } from '../../contract/schema.ts';
import type { ResultView } from '../output/result-view.ts';

const TEXT: Schema = { type: 'string' };
const NUMBER: Schema = { type: 'integer' };

const object = (properties: Readonly<Record<string, Schema>>): Schema => {
  return { type: 'object', additionalProperties: false, properties };
};

/** How the results of `vault export`, `vault import` and `vault keygen` are shown. */
export const TRANSFER_VIEWS = {
  exported: {
    schema: object({ file: TEXT, tokens: NUMBER, view: TEXT, sealed: TEXT }),
    list: false,
    columns: ['file', 'tokens', 'view', 'sealed'],
    rest: false,
  },
  imported: {
    schema: object({ created: NUMBER, skipped: NUMBER, failed: NUMBER }),
    list: false,
    columns: ['created', 'skipped', 'failed'],
    rest: false,
  },
  key: { schema: object({ file: TEXT, recipient: TEXT }), list: false, columns: ['file', 'recipient'], rest: false },
} as const satisfies Record<string, ResultView>;
