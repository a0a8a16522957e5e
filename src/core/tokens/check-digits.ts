const ZERO = 0x30;
const ABA_WEIGHTS = '371371371';

/** Returns whether the digits pass the Luhn check (ISO/IEC 7812-1, annex B). The text must be digits only. */
export function passesLuhn(digits: string): boolean {
  let sum = 0;
  for (let at = 0; at < digits.length; at++) {
    const digit = digits.charCodeAt(digits.length - 1 - at) - ZERO;
    const doubled = at % 2 === 0 ? digit : digit * 2;
    sum += doubled > 9 ? doubled - 9 : doubled;
  }
  return sum % 10 === 0;
}

/**
 * Returns whether a nine-digit ABA routing number has the right check digit: the sum of its digits, weighted by 3, 7,
 * 1, …, is a multiple of ten.
 */
export function passesAba(digits: string): boolean {
  const sum = [...digits].reduce((total, digit, at) => total + Number(digit) * Number(ABA_WEIGHTS.charAt(at)), 0);
  return sum % 10 === 0;
}
