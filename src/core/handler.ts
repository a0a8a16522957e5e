import type { Json } from '../contract/json.ts';
import type { OperationId, ResultOf } from '../contract/operations.ts';
import type { Caller } from './caller.ts';
import type { JsonText } from './json/json-text.ts';
import type { Request } from './request/validate.ts';
import type { World } from './world.ts';

/** A result whose opened values may still be text, and whose optional members may be there and undefined: they are not printed. */
export type Shown<T> = Json extends T
  ? Json | JsonText
  : T extends readonly (infer I)[]
    ? readonly (Shown<I> | (I extends object ? JsonText : never))[]
    : T extends object
      ? {
          readonly [K in keyof T]:
            | Shown<T[K]>
            | (NonNullable<T[K]> extends object ? JsonText : never)
            | (object extends Pick<T, K> ? undefined : never);
        }
      : T;

/** Steps 6 and 7 of the one path for one operation. Throws problems 403 (no rule reaches it), 404 and 409. */
export type Handler<Id extends OperationId> = (
  request: Request<Id>,
  caller: Caller,
  world: World,
) => Promise<Shown<ResultOf<Id>> | JsonText>;
