const UNITS = ['B', 'KB', 'MB', 'GB', 'TB'] as const;

/** Formats a number of bytes: `4.8 MB`. */
export function byteSize(bytes: number): string {
  const power = bytes < 1000 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log10(bytes) / 3));
  return `${Number((bytes / 1000 ** power).toPrecision(3)).toLocaleString('en')} ${UNITS[power]}`;
}
