import type { Schema } from './schema.ts';

/**
 * Returns these members of a resource for the body of its update, where they are read-only: a resource can be sent back
 * as it was read.
 */
export function readOnly<
  Properties extends Readonly<Record<string, Schema>>,
  const Names extends readonly (keyof Properties)[],
>(properties: Properties, names: Names) {
  const members = names.map((name) => {
    const { description = '' } = properties[name] as Schema;
    return [
      name,
      { ...properties[name], description: `${description} Read-only: only its stored value.`, readOnly: true },
    ];
  });
  // The cast is safe: each of the names is a member, and each member gets the mark.
  return Object.fromEntries(members) as { readonly [N in Names[number]]: Properties[N] & { readonly readOnly: true } };
}
