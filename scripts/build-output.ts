import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { BuildOptions } from 'esbuild';

/** The path of the checkout. */
export const ROOT = path.dirname(import.meta.dirname);

/** Options of all of esbuild's builds. */
export const ESBUILD = {
  absWorkingDir: ROOT,
  bundle: true,
  write: false,
  metafile: true,
  legalComments: 'none', // dist/LICENSES.txt has the full texts
  logLevel: 'warning',
} as const satisfies BuildOptions;

/** Options that a build adds to `ESBUILD`. */
export type MoreOptions = Omit<BuildOptions, 'write' | 'metafile'>;

/** Replaces a file atomically, unless it already has the content, so that running tests see whole files. */
export function writeIfChanged(file: string, content: string | Uint8Array): void {
  const bytes = Buffer.from(content);
  if (existsSync(file) && readFileSync(file).equals(bytes)) return;
  mkdirSync(path.dirname(file), { recursive: true });
  const temporary = `${file}.${process.pid}.tmp`;
  writeFileSync(temporary, bytes);
  renameSync(temporary, file);
}
