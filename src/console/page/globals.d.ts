/** Declares V8's `Error.stackTraceLimit`. Code that the page shares with the server sets it. */
interface ErrorConstructor {
  stackTraceLimit: number;
}

/** Each expression filter with its parameters and their defaults. The build inserts the table. */
declare const FILTER_SIGNATURES: Readonly<Record<string, string>>;
