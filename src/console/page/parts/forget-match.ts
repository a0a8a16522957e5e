/** Clears the text of the last match (`RegExp.lastMatch`), which may be plaintext. */
export function forgetMatch(): void {
  /./.test('.');
}
