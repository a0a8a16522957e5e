import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';

/** Of Node 22. What newer ones make of a factor of 1 is not known. */
const NEWEST_V8 = 12;

/** Below this it is collected so often that it costs time; above it only memory. */
const ENOUGH_BYTES = 4 * 1024 * 1024;

/**
 * Keeps V8's young generation small; to be called now and then over many rows. The more garbage was made, the more room V8 takes
 * for more of it, up to 32 MB, however little of it lives: over rows that are gone when they are done, nothing else grows. Only
 * for when all code is loaded: with another flag V8 takes no cached code.
 */
export function createHeapKeeper(): () => void {
  let grows = Number.parseInt(process.versions.v8, 10) <= NEWEST_V8;
  return () => {
    if (!grows) return;
    const young = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space');
    if (young === undefined || young.space_size < ENOUGH_BYTES) return;
    setFlagsFromString('--semi-space-growth-factor=1');
    grows = false;
  };
}
