import { alternating } from '../postgres/alternating-store.ts';
import { inSchemas, OPTIONS } from './postgres-schemas.ts';
import { storeConformance } from './store.ts';

/** Each store opens its own chain with its first write. */
const OWN_CHAINS = { ...OPTIONS, writesOnRoot: 0 };

storeConformance('postgres, two stores with their own chains', inSchemas(OWN_CHAINS, alternating));
