const WEIGHTS = [3, 7, 1] as const;

/** Whether a nine-digit ABA routing number has the right check digit: 3, 7, 1, … weigh its digits to a multiple of ten. */
export function passesAba(digits: string): boolean {
  const sum = [...digits].reduce((total, digit, place) => total + Number(digit) * (WEIGHTS[place % 3] ?? 0), 0);
  return sum % 10 === 0;
}
