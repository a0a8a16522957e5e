import type { Schema, TypeName } from '../../contract/schema.ts';

/** The type of a member without the null that a merge patch allows beside it. */
export function typeOf(schema: Schema): TypeName | undefined {
  return typeof schema.type === 'object' ? schema.type[0] : schema.type;
}

/** Whether null is a value of the member: where it is written so, and where any JSON goes. */
export function allowsNull(schema: Schema): boolean {
  return typeof schema.type === 'object' || (schema.type === undefined && schema.enum === undefined);
}
