/** Of V8; files that the page shares with the vault set it. */
interface ErrorConstructor {
  stackTraceLimit: number;
}

/** The parameters of each filter of the expression language: names, and defaults behind `=`. The build writes them here. */
declare const FILTER_PARAMETERS: Readonly<Record<string, readonly string[]>>;
