import { basename } from 'node:path';

/** The end of the name of a copy that `vault move` has not finished. */
export const MOVING = '.moving';

/** The start of the name of each draft for a file. */
export function draftOf(target: string): string {
  return `.${basename(target).slice(0, 64)}`;
}

/** Matches the rest of a draft's name: a label without dots, and a random part. */
const DRAFT_END = /^\.(?:[^.]+\.)?[0-9a-f]{16}\.new$/;

/** Returns whether a name is that of a draft for `target`, or of the copy of a move to `target`. */
export function isLeftoverOf(target: string, name: string): boolean {
  const draft = draftOf(target);
  return (
    (name.startsWith(draft) && DRAFT_END.test(name.slice(draft.length))) || name === `${basename(target)}${MOVING}`
  );
}
