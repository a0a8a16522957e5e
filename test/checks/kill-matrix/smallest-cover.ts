/** A line of the matrix: the test files that ran with a mutant, and those that failed. */
export interface Kill {
  readonly mutant: string;
  readonly ran: readonly string[];
  readonly killed_by: readonly string[];
}

type LinesIn = (file: string) => number;

/**
 * Returns test files that together kill every mutant that any file kills: again and again the file with the most new
 * kills per line, then without those that the others made needless.
 */
function smallestCover(kills: readonly Kill[], linesIn: LinesIn): readonly string[] {
  const open = new Set(kills.filter(({ killed_by }) => killed_by.length > 0));
  const files = [...new Set(kills.flatMap(({ killed_by }) => killed_by))];
  const chosen = new Set<string>();
  while (open.size > 0) {
    const counts = new Map(files.map((file) => [file, 0]));
    for (const { killed_by } of open) for (const file of killed_by) counts.set(file, (counts.get(file) ?? 0) + 1);
    const worth = (file: string) => (counts.get(file) ?? 0) / Math.max(1, linesIn(file));
    const best = files.reduce((a, b) => (worth(b) > worth(a) ? b : a));
    chosen.add(best);
    for (const kill of open) if (kill.killed_by.includes(best)) open.delete(kill);
  }
  for (const file of [...chosen].sort((a, b) => linesIn(b) - linesIn(a))) {
    const isNeeded = kills.some(({ killed_by }) => killed_by.filter((each) => chosen.has(each)).join() === file);
    if (!isNeeded) chosen.delete(file);
  }
  return [...chosen].sort();
}

/**
 * Returns the mutants that no test file kills and the test files outside the smallest cover with their lines. A folder has
 * the lines of all its test files and of those outside.
 */
export function summarize(kills: readonly Kill[], files: readonly string[], linesIn: LinesIn): object {
  const cover = smallestCover(kills, linesIn);
  const outside = files.filter((file) => !cover.includes(file));
  const sum = (some: readonly string[]) => some.reduce((lines, file) => lines + linesIn(file), 0);
  const folders = [...Map.groupBy(files, (file) => file.slice(0, file.lastIndexOf('/')))].map(
    ([folder, own]) =>
      [folder, { lines: sum(own), outside: sum(own.filter((file) => outside.includes(file))) }] as const,
  );
  return {
    mutants: kills.length,
    killed_by_nobody: kills.filter(({ killed_by }) => killed_by.length === 0).map(({ mutant }) => mutant),
    outside_the_smallest_cover: Object.fromEntries(outside.map((file) => [file, linesIn(file)])),
    folders: Object.fromEntries(folders),
  };
}
