import { at, MANAGEMENT_ID, PUBLIC_ID } from '../../example-names.ts';
import { exampleKey } from './application.ts';
import type { Examples } from './examples.ts';

const KEY_ID = 'c1d1a4f0-5b1e-4f57-8d64-6a1f6d3c9e72';
const FIRST_KEY_ID = '3f1b6c5e-0f0b-4c8a-9a53-5d7c1f0a2b41';

const NEXT_KEY = { id: KEY_ID, version: '3', created_by: MANAGEMENT_ID, created_at: at('09:44') };

const LISTED_KEYS = [NEXT_KEY, { id: FIRST_KEY_ID, version: '2', created_by: MANAGEMENT_ID, created_at: at('09:43') }];

/** The examples of the operations on the API keys of an application. */
export const APPLICATION_KEY_EXAMPLES = {
  createApplicationKey: {
    next: {
      summary: 'A second key, before the first one is deleted',
      params: { id: PUBLIC_ID },
      result: { id: KEY_ID, version: '3', key: exampleKey('E'), created_by: MANAGEMENT_ID, created_at: at('09:44') },
    },
  },
  listApplicationKeys: { public: { summary: 'Two keys', params: { id: PUBLIC_ID }, result: LISTED_KEYS } },
  getApplicationKey: { next: { summary: 'A key', params: { id: PUBLIC_ID, key_id: KEY_ID }, result: NEXT_KEY } },
  deleteApplicationKey: { first: { summary: 'The first key', params: { id: PUBLIC_ID, key_id: FIRST_KEY_ID } } },
} as const satisfies Partial<Examples>;
