import { lstatSync, realpathSync } from 'node:fs';
import { join, parse, sep } from 'node:path';

const WRITTEN_BY_OTHERS = 0o022;
/** In a folder with this bit, only the owner of a name may replace it. */
const STICKY = 0o1000;

/**
 * Returns a folder in which no other user can replace what root makes, for the drafts of files in `folder`: the deepest
 * one on its path, so that the file system is the same if possible. Otherwise the owner of `folder` could replace a
 * draft by a link, and root would write to any file. Returns `folder` itself if it is such a folder, for other users,
 * and if there is none.
 */
export function guardedFolder(folder: string): string {
  if (process.getuid?.() !== 0) return folder;
  const real = realPath(folder);
  if (real === undefined) return folder;
  const { root } = parse(real);
  let guarded: string | undefined;
  for (const name of ['', ...real.slice(root.length).split(sep)]) {
    const next = join(guarded ?? root, name);
    const found = lstatSync(next, { throwIfNoEntry: false });
    if (found === undefined || !found.isDirectory() || found.uid !== 0) break;
    if ((found.mode & WRITTEN_BY_OTHERS) !== 0 && (found.mode & STICKY) === 0) break;
    guarded = next;
  }
  return guarded === undefined || guarded === real ? folder : guarded;
}

/** Returns the path without links; undefined for a folder that the next step cannot use either. */
function realPath(folder: string): string | undefined {
  try {
    return realpathSync(folder);
  } catch {
    return undefined;
  }
}
