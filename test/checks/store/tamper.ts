import { startPostgres } from '../../postgres/start-postgres.ts';
import type { Check, CheckOptions } from '../check.ts';
import { tamper } from '../tamper.ts';
import { storeLocations } from './tamper-locations.ts';
import { STORE_TABLES } from './tamper-table.ts';

async function tamperStore(options: CheckOptions, edit?: string) {
  await using server = await startPostgres();
  // The client requires a password.
  process.env['PGPASSWORD'] = 'unused';
  const locations = storeLocations(server);
  return await tamper({
    ...options,
    subject: {
      locations,
      minEdits: options.quick ? 12 : 250,
      sample: 24,
      isCliRare: true,
      tables: STORE_TABLES,
    },
    ...(edit !== undefined && { edits: [{ name: edit, alter: (name: string) => locations.alter(name, edit) }] }),
  });
}

export const CHECK: Check = {
  number: 25,
  name: 'tamper with SQL',
  quick: true,
  run: (options) => tamperStore(options),
  /** An edit that changes nothing, so that nothing can find it. */
  control: (options) => tamperStore(options, 'UPDATE token SET revision = revision'),
};
