const PATTERNS = {
  key: /key_[1-9A-HJ-NP-Za-km-z]{32}/g,
  uuid: /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g,
  cursor: /\bAQAAAA[M-P][\w-]{100,}/g,
  fingerprint: /\b[1-9A-HJ-NP-Za-km-z]{42,44}\b/g,
} as const;

const TIME = /\b\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2})/g;
/** A time in a table, with TZ=UTC. */
const TABLE_TIME = /\b\d{4}-\d{2}-\d{2} \d{2}:\d{2}(?::\d{2} \+00:00)?(?= |$)/gm;
const HOUR_MS = 3_600_000;

/** Replaces the varying parts of the output of one run. Equal values get equal placeholders. */
export function createNormaliser(folder: string): {
  normalise(text: string, variables: ReadonlyMap<string, string>): string;
} {
  const numbers = new Map<string, string>();
  const counts: Record<string, number> = {};
  const numbered = (kind: string, value: string): string => {
    if (!numbers.has(value)) {
      counts[kind] = (counts[kind] ?? 0) + 1;
      numbers.set(value, `<${kind}:${counts[kind]}>`);
    }
    return numbers.get(value) ?? '';
  };
  return {
    normalise(text, variables) {
      let normal = text.replaceAll(folder, '<folder>');
      for (const [name, value] of variables) {
        // A short value may occur anywhere by chance.
        if (value.length >= 16) normal = normal.replaceAll(value, `<${name}>`);
      }
      for (const [kind, pattern] of Object.entries(PATTERNS)) {
        normal = normal.replace(pattern, (value) => numbered(kind, value));
      }
      return normal
        .replace(TIME, (time) => hideNow(time, Date.parse(time)))
        .replace(TABLE_TIME, (time) => hideNow(time, Date.parse(`${time.slice(0, 16).replace(' ', 'T')}Z`)));
    },
  };
}

function hideNow(text: string, time: number): string {
  return Math.abs(time - Date.now()) < HOUR_MS ? '<time>' : text;
}
