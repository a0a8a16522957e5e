import { alternating } from '../postgres/alternating-store.ts';
import { inSchemas, OPTIONS } from './postgres-schemas.ts';
import { storeConformance } from './store.ts';

storeConformance('postgres, two stores', inSchemas(OPTIONS, alternating));
