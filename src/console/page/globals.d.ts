/** A member of V8's `Error`, which files that the page shares with the product set. */
interface ErrorConstructor {
  stackTraceLimit: number;
}

/** The parameters of each expression filter: names, with defaults after `=`. The build inserts the table. */
declare const FILTER_PARAMETERS: Readonly<Record<string, readonly string[]>>;
