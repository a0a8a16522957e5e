import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';
import { isShortage } from '../../../core/fault.ts';

/** The descriptors that SQLite needs for a file, its log and its shared memory. */
const NEEDED = 3;

/**
 * Returns the system's error if the process cannot open as many files as SQLite needs, else undefined. SQLite does not
 * report the error of the system behind SQLITE_CANTOPEN.
 */
export function findShortage(): unknown {
  const opened: number[] = [];
  try {
    while (opened.length < NEEDED) opened.push(openSync(devNull, 'r'));
    return undefined;
  } catch (error) {
    return isShortage(error) ? error : undefined;
  } finally {
    for (const descriptor of opened) closeSync(descriptor);
  }
}
