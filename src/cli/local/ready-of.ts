import { VERSION } from '../version.ts';
import type { Ready } from './ready-file.ts';
import { DEFAULT_HEADER_PREFIX, type ServeOptions } from './serve-options.ts';

/** What the ready file of every daemon says. Whoever reads it must know the header prefix, where it is not the usual one. */
export function readyOf(url: string, { headerPrefix }: Pick<ServeOptions, 'headerPrefix'>): Ready {
  const prefix = headerPrefix === DEFAULT_HEADER_PREFIX ? {} : { header_prefix: headerPrefix };
  return { url, pid: process.pid, version: VERSION, ...prefix };
}
