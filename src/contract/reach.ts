import { ACCESS_RULE } from './access-rule.ts';
import { ASKED_APPLICATION } from './explanation.ts';
import { TRANSFORMS, type Transform } from './permissions.ts';
import { type Infer, object } from './schema.ts';

/** The maximum number of tokens in one count. */
export const MAX_REACH = 10_000;

export const MEASURE_REACH = object([], ASKED_APPLICATION);

/** The tokens that one rule governs, that the plain permission governs, or that nothing governs. */
const REACH_PART = object(['source', 'tokens', 'capped'], {
  source: {
    enum: ['rule', 'permission', 'nothing'],
    description: 'The source of the access: a rule, the plain permission `token:read`, or nothing.',
  },
  priority: { ...ACCESS_RULE.properties.priority, description: 'The priority of the rule.' },
  transform: {
    enum: Object.keys(TRANSFORMS) as Transform[],
    description: 'How `data` is shown; absent when the application does not read these tokens.',
  },
  tokens: { type: 'integer', minimum: 0, maximum: MAX_REACH, description: 'The number of tokens, at most 10,000.' },
  capped: { type: 'boolean', description: 'Whether there are more than 10,000 tokens.' },
});

/** The numbers of tokens that an application can read, by the rule that governs them. Each token counts once. */
export const REACH = object(['reach'], {
  reach: {
    type: 'array',
    items: REACH_PART,
    description:
      'An entry for each rule that grants `token:read`, in ascending priority, then an entry for the tokens that no rule governs. A token counts for the first rule that governs it. A rule of an expiring application may have several entries, because the weaker transform of the application and its creator applies.',
  },
});

export type ReachPart = Infer<typeof REACH_PART>;
