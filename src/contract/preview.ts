import type { Infer } from './schema.ts';
import { TOKEN } from './token.ts';

const { fingerprint, ...SHOWN } = TOKEN.properties;

/**
 * The token that Create Token would create. It has no fingerprint, because a preview must not help to find tokens with
 * the same content.
 */
export const TOKEN_PREVIEW = {
  ...TOKEN,
  required: [...TOKEN.required, 'id_is', 'fingerprinted', 'search_values'],
  properties: {
    ...SHOWN,
    id_is: {
      enum: ['given', 'sample', 'assigned'],
      description:
        'The origin of the id: `given` in the request, a `sample` result of its expression, or `assigned` by the vault. The created token gets a different id in the last two cases.',
    },
    fingerprinted: {
      type: 'string',
      description:
        'The text from which the fingerprint is computed: the canonical JSON text of `data`, or the result of a fingerprint expression other than the default.',
    },
    search_values: {
      type: 'array',
      items: { type: 'string' },
      description: 'The values of the search indexes, in their order.',
    },
  },
} as const;

export type TokenPreview = Infer<typeof TOKEN_PREVIEW>;
