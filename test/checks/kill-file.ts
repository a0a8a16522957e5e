interface Pragma {
  pragma(text: string, options: { readonly simple: true }): unknown;
  close(): void;
}

/** What SQLite finds wrong with a file that nobody has open; undefined when it is whole. */
export async function checkFile(file: string): Promise<string | undefined> {
  const { default: Database } = await import('better-sqlite3');
  const database: Pragma = new Database(file, { fileMustExist: true });
  try {
    const found = database.pragma('integrity_check', { simple: true });
    return found === 'ok' ? undefined : `integrity_check: ${String(found)}`;
  } finally {
    database.close();
  }
}
