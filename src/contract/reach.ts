import { ACCESS_RULE } from './access-rule.ts';
import { ASKED_APPLICATION } from './explanation.ts';
import { TRANSFORMS, type Transform } from './permissions.ts';
import type { Infer } from './schema.ts';

/** Counts stop here. */
export const MAX_REACH = 10_000;

export const MEASURE_REACH = { type: 'object', additionalProperties: false, properties: ASKED_APPLICATION } as const;

/** The tokens that one rule, the plain permission or nothing governs. */
const REACH_PART = {
  type: 'object',
  required: ['source', 'tokens', 'capped'],
  additionalProperties: false,
  properties: {
    source: {
      enum: ['rule', 'permission', 'nothing'],
      description: 'What governs `token:read`: a rule, the permission held plainly, or nothing.',
    },
    priority: { ...ACCESS_RULE.properties.priority, description: 'The priority of the rule.' },
    transform: {
      enum: Object.keys(TRANSFORMS) as Transform[],
      description: 'How `data` is shown; absent when the application does not read these tokens.',
    },
    tokens: { type: 'integer', minimum: 0, maximum: MAX_REACH, description: 'How many tokens, at most 10,000.' },
    capped: { type: 'boolean', description: 'Whether there are more.' },
  },
} as const;

/** How many tokens an application reads, by what governs them. Each token counts once. */
export const REACH = {
  type: 'object',
  required: ['reach'],
  additionalProperties: false,
  properties: {
    reach: {
      type: 'array',
      items: REACH_PART,
      description:
        'Each rule that grants `token:read`, in ascending priority, then the other tokens. A rule counts the tokens that no earlier one governs. A rule of an expiring application may have several entries: the weaker transform of it and its creator counts.',
    },
  },
} as const;

export type ReachPart = Infer<typeof REACH_PART>;
