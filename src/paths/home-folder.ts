import { statSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute } from 'node:path';

/** Returns the home folder of this user; undefined for a user without one, as in many containers. */
export function homeFolder(): string | undefined {
  try {
    const home = homedir();
    // Users of services often have the home /dev/null.
    const isFolder = statSync(home, { throwIfNoEntry: false })?.isDirectory() !== false;
    return isAbsolute(home) && isFolder ? home : undefined;
  } catch {
    // Without HOME, the system looks for the user in /etc/passwd, and fails without an entry.
    return undefined;
  }
}
