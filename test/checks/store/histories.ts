import type { Check } from '../check.ts';
import { ALL_GUARDS, removeHistoryGuards, runHistoriesIn } from '../histories.ts';
import { storeLocations } from './histories-location.ts';

const HISTORIES = 300;
const QUICK_HISTORIES = 12;
/** The maximum number of histories in which doctor must miss an attack without a guard. */
const MAX_CONTROL = 80;

export const CHECK: Check = {
  number: 41,
  name: 'histories in PostgreSQL',
  quick: true,
  run: ({ seed, quick }) => runHistoriesIn(storeLocations, seed, quick ? QUICK_HISTORIES : HISTORIES),
  control: ({ seed, quick }) =>
    removeHistoryGuards({
      seed,
      limit: MAX_CONTROL,
      // The check of files removes every guard; both stores share them.
      ...(quick && { guards: ALL_GUARDS.slice(0, 1) }),
      locations: async (load) => {
        const { storeLocations: locations } =
          await load<typeof import('./histories-location.ts')>('store/histories-location.ts');
        return locations();
      },
    }),
};
