import { API_KEY, ENTITY_ID, type Infer, object, TIME } from './schema.ts';

/** The maximum number of API keys of an application that have not expired. */
export const MAX_KEYS = 10;

/** The maximum version of an API key. No application reaches it, so a higher version is damage. */
export const MAX_KEY_VERSION = 1_000_000_000;

/** An API key of an application (search-and-batches.md §9). Only the reply that creates it has `key`. */
export const APPLICATION_KEY = object(['id', 'version', 'created_at'], {
  id: { ...ENTITY_ID, description: 'The id of the key.' },
  version: { type: 'string', pattern: '^[1-9][0-9]*$', description: 'The number of the key, counted from 1.' },
  key: { type: 'string', pattern: API_KEY, description: 'The API key. It is shown only once.' },
  created_by: { ...ENTITY_ID, description: 'The application that created the key.' },
  created_at: { ...TIME, description: 'The time of creation.' },
  expires_at: { ...TIME, description: 'The time at which the key stops working. Absent: never.' },
  last_used_on: {
    type: 'string',
    pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}$',
    description: 'The last day (UTC) on which a call used the key. Absent: not used yet.',
  },
});

export const APPLICATION_KEYS = {
  type: 'array',
  items: APPLICATION_KEY,
  description: 'The keys that have not expired, newest first.',
} as const;

export const CREATE_APPLICATION_KEY = object([], {
  expires_at: {
    type: 'string',
    maxLength: 64,
    description: 'The time at which the key stops working: ISO 8601, in the future. Default: never.',
  },
});

export type ApplicationKey = Infer<typeof APPLICATION_KEY>;
