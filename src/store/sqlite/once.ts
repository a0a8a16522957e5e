/** Makes a value on its first use: a statement that a command never runs is never prepared, which keeps the CLI's start short. */
export function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
