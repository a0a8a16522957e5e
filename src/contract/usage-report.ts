import { TIME } from './text.ts';

/** The Tenant Usage Report (§2.8). */
export const USAGE_REPORT = {
  type: 'object',
  required: ['token_report'],
  additionalProperties: false,
  properties: {
    token_report: {
      type: 'object',
      required: ['metrics_by_type', 'included_monthly_active_tokens', 'monthly_active_tokens'],
      additionalProperties: false,
      properties: {
        metrics_by_type: {
          type: 'object',
          description: 'By token type.',
          additionalProperties: {
            type: 'object',
            required: ['count'],
            additionalProperties: false,
            properties: { count: { type: 'integer', minimum: 0 }, last_created_at: TIME },
          },
        },
        included_monthly_active_tokens: { type: 'integer', minimum: 0 },
        monthly_active_tokens: {
          type: 'integer',
          minimum: 0,
          description: 'Tokens created or shown in this calendar month (UTC), deleted ones included.',
        },
      },
    },
  },
} as const;
