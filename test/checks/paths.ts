import type { Check, CheckOptions } from './check.ts';
import { killEachAfterLink } from './kill-after-link.ts';
import { builtText } from './patched-product.ts';
import { tryFileSystems } from './paths-file-systems.ts';
import { attackSecondPath, BIND_MOUNT, HARD_LINK, mayMount } from './paths-second.ts';
import { attackThings } from './paths-things.ts';
import { type Guard, removeGuards } from './remove-guards.ts';

const CREATES = { quick: 40, full: 500 } as const;

/**
 * Nothing that a path leads to is destroyed: a vault with a second path is refused, and so are file systems whose locks
 * may do nothing, and devices, pipes and links at the paths that the product writes.
 */
async function run({ quick }: CheckOptions) {
  const creates = CREATES[quick ? 'quick' : 'full'];
  const isMounted = mayMount();
  return {
    creates_beside_a_hard_link: await attackSecondPath(HARD_LINK, creates),
    // test/unit/mount-points.test.ts has the table of the parser.
    creates_beside_a_bind_mount: isMounted ? await attackSecondPath(BIND_MOUNT, creates) : 'this system may not mount',
    file_systems: await tryFileSystems(quick),
    devices_pipes_and_links: await attackThings(quick),
    // Check 27 has these kills in a quick run, too.
    kills_between_link_and_unlink: quick ? 0 : await killEachAfterLink(),
  };
}

/** The guards, as the built product has them, and the attacks that must succeed without them. */
const GUARDS: readonly Guard[] = [
  [builtText('isOnlyRead||assertOnePath(path,found),found'), 'found', (bin) => attackSecondPath(HARD_LINK, 20, bin)],
  [builtText('!found?.isNetwork||isAllowed'), 'true', (bin) => tryFileSystems(true, bin)],
  [builtText('if(found.isFile())return;'), 'return;', (bin) => attackThings(true, bin)],
];

export const CHECK: Check = { number: 35, name: 'paths', quick: true, run, control: () => removeGuards(GUARDS) };
