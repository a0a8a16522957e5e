/**
 * Text for comparing without regard to case: upper before lower, so that ß meets SS and ſ meets s, and in one normal form.
 */
export function foldCase(text: string): string {
  return text.normalize('NFC').toUpperCase().toLowerCase().normalize('NFC');
}
