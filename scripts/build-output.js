import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

/** The checkout. */
export const ROOT = path.dirname(path.dirname(fileURLToPath(import.meta.url)));

/**
 * Writes `content` unless the file has it already. A reader sees the old file or the new one, never a part. `before` is
 * awaited when there is something to write.
 */
export async function writeIfChanged(file, content, before) {
  const bytes = Buffer.from(content);
  const current = await readFile(file).catch(() => undefined);
  if (current?.equals(bytes)) return false;
  await before?.();
  await mkdir(path.dirname(file), { recursive: true });
  const temporary = `${file}.${process.pid}.tmp`;
  await writeFile(temporary, bytes);
  await rename(temporary, file);
  return true;
}

/** Removes what an earlier build left below `folder`; `kept` are absolute paths of files or of whole folders. */
export async function removeOthers(folder, kept) {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  for (const entry of entries) {
    const full = path.join(folder, entry.name);
    if (kept.has(full)) continue;
    const keepsSome = entry.isDirectory() && [...kept].some((file) => file.startsWith(full + path.sep));
    if (keepsSome) await removeOthers(full, kept);
    else await rm(full, { recursive: true, force: true });
  }
}
