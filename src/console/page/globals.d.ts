/** Declares V8's `Error.stackTraceLimit`. Code that the page shares with the server sets it. */
interface ErrorConstructor {
  stackTraceLimit: number;
}

/** The parameters of each expression filter: names, with defaults after `=`. The build inserts the table. */
declare const FILTER_PARAMETERS: Readonly<Record<string, readonly string[]>>;
