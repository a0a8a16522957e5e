import { alternating, inSchemas, OPTIONS } from './postgres-schemas.ts';
import { storeConformance } from './store.ts';

storeConformance('postgres, two stores', inSchemas(OPTIONS, alternating));
