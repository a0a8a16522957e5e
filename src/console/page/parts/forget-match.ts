/** Engines keep the text of the last match (`RegExp.lastMatch`), which may have been plaintext. */
export function forgetMatch(): void {
  /./.test('.');
}
