import { inSchemas, OPTIONS } from './postgres-schemas.ts';
import { storeConformance } from './store.ts';

storeConformance(
  'postgres',
  inSchemas(OPTIONS, (openStore) => openStore()),
);
