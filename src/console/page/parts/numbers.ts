// Formats without Intl where possible, because the first use of Intl delays the first screen by 10 to 20 ms.

/** The units of a time with their short names and their sizes in milliseconds. */
export const UNITS = [
  ['year', 'y', 31_557_600_000],
  ['month', 'mo', 2_629_800_000],
  ['day', 'd', 86_400_000],
  ['hour', 'h', 3_600_000],
  ['minute', 'min', 60_000],
  ['second', 's', 1_000],
] as const;

/** The words for one unit before and after now. */
const NEXT_TO_NOW: Readonly<Record<string, readonly [before: string, after: string]>> = {
  year: ['last year', 'next year'],
  month: ['last month', 'next month'],
  day: ['yesterday', 'tomorrow'],
};

/** Formats a time relative to now in its largest unit: `5 minutes ago`. */
export function relativeTime(ms: number): string {
  const [unit, , size] = UNITS.find(([, , each]) => Math.abs(ms) >= each) ?? [];
  if (unit === undefined) return 'now';
  const count = Math.floor(Math.abs(ms) / size);
  const words = count === 1 ? NEXT_TO_NOW[unit] : undefined;
  if (words !== undefined) return words[ms < 0 ? 0 : 1];
  const text = `${wholeNumber(count)} ${unit}${count === 1 ? '' : 's'}`;
  return ms < 0 ? `${text} ago` : `in ${text}`;
}

/** Formats a time relative to now with a short unit: `5 min ago`. */
export function shortTime(ms: number): string {
  return relativeTime(ms).replace(
    /(?<=\d )[a-z]+/,
    (word) => UNITS.find(([unit]) => word.startsWith(unit))?.[1] ?? word,
  );
}

/** Formats a whole number: `1,000,000`. */
export function wholeNumber(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ',');
}

/** Formats a number of things: `1 token`, `1,000 tokens`. */
export function counted(count: number, name: string): string {
  return `${wholeNumber(count)} ${count === 1 ? name : name.replace(/y$/, 'ie').concat('s')}`;
}

/** Formats a number that the vault counts only up to a limit: `100,000+`. */
export const upTo = (count: number, isCapped: boolean | undefined): string =>
  `${wholeNumber(count)}${isCapped ? '+' : ''}`;

/** Formats a time in the time zone of the browser, with the offset of the zone: `2026-11-28 03:05:09 +01:00`. */
export function exactTime(iso: string): string {
  const ms = Date.parse(iso);
  const minutes = -new Date(ms).getTimezoneOffset();
  const two = (value: number) => String(value).padStart(2, '0');
  const away = Math.abs(minutes);
  const zone = minutes === 0 ? 'UTC' : `${minutes < 0 ? '-' : '+'}${two(Math.floor(away / 60))}:${two(away % 60)}`;
  return `${new Date(ms + minutes * 60_000).toISOString().slice(0, 19).replace('T', ' ')} ${zone}`;
}
