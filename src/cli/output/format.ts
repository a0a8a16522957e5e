import { Fault } from '../../core/fault.ts';

export const FORMATS = ['table', 'json', 'yaml', 'csv', 'ndjson'] as const;

export type Format = (typeof FORMATS)[number];

/** `table` for people, `json` for programs, unless somebody says otherwise. */
export function chooseFormat(asked: string | undefined, isTerminal: boolean): Format {
  if (asked === undefined) return isTerminal ? 'table' : 'json';
  const format = FORMATS.find((known) => known === asked);
  if (format !== undefined) return format;
  throw new Fault('usage', `--output (VAULT_OUTPUT) is one of ${FORMATS.join(', ')}`);
}
