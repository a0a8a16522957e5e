import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';

/** The path of the checkout. */
export const ROOT = path.dirname(import.meta.dirname);

/** Replaces a file atomically, unless it already has the content. Resolves to whether it wrote the file. */
export async function writeIfChanged(file, content) {
  const bytes = Buffer.from(content);
  const current = await readFile(file).catch(() => undefined);
  if (current?.equals(bytes)) return false;
  await mkdir(path.dirname(file), { recursive: true });
  const temporary = `${file}.${process.pid}.tmp`;
  await writeFile(temporary, bytes);
  await rename(temporary, file);
  return true;
}
