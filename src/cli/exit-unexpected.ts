/**
 * Ends a command for an error that nobody caught. Node would show the line that threw, which is the text of a bundle, and the
 * message, which may hold a value.
 */
export function exitUnexpected(error: unknown): void {
  void import('./report-failure.ts').then(
    ({ reportFailure }) => process.exit(reportFailure(error, process.env)),
    () => process.exit(1),
  );
}
