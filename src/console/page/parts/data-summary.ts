import type { Json } from '../../../contract/json.ts';

const MAX_LENGTH = 80;

/** Returns the values of masked data in one line, without member names. */
export function dataSummary(data: Json | undefined): string {
  const text = data === undefined ? '' : values(data).join(' ');
  return text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH)}…` : text;
}

function values(data: Json): readonly string[] {
  if (typeof data !== 'object' || data === null) return [String(data)];
  return Object.values(data).flatMap(values);
}
