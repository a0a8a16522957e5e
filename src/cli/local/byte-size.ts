import { Fault } from '../../core/fault.ts';

const UNITS: Readonly<Record<string, number>> = { '': 1, KiB: 1024, MiB: 1024 ** 2 };

/** A positive whole number, or one of KiB or MiB. Throws the fault `usage`. */
export function parseByteSize(flag: string, text: string): number {
  const match = /^([1-9]\d{0,8})(KiB|MiB)?$/.exec(text);
  if (match === null) throw new Fault('usage', `${flag} is a number of bytes such as 65536, 64KiB or 1MiB`);
  return Number(match[1]) * (UNITS[match[2] ?? ''] ?? 1);
}
