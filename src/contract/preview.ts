import type { Infer } from './schema.ts';
import { TOKEN } from './token.ts';

const { fingerprint, ...SHOWN } = TOKEN.properties;

/** The token that Create Token would create. Has no fingerprint: a preview must not find tokens with the same content. */
export const TOKEN_PREVIEW = {
  ...TOKEN,
  required: [...TOKEN.required, 'id_is', 'fingerprinted', 'search_values'],
  properties: {
    ...SHOWN,
    id_is: {
      enum: ['given', 'sample', 'assigned'],
      description:
        'Whether the id is that of the request, a value of its expression, or assigned. The last two may differ when the token is created.',
    },
    fingerprinted: { type: 'string', description: 'The text that the fingerprint is made of.' },
    search_values: {
      type: 'array',
      items: { type: 'string' },
      description: 'The values of the search indexes, in their order.',
    },
  },
} as const;

export type TokenPreview = Infer<typeof TOKEN_PREVIEW>;
