import type { Json } from '../../contract/json.ts';

/**
 * What an object of JSON is read into: it inherits nothing, so `__proto__` and `constructor` are members like any other.
 * V8 makes a hash table of what `Object.create(null)` gives; of this it makes an object like any other, which takes a third
 * of the time to fill, to look into and to print.
 */
export class MemberMap {
  [name: string]: Json;
}
Object.setPrototypeOf(MemberMap.prototype, null);
Reflect.deleteProperty(MemberMap.prototype, 'constructor');
Object.freeze(MemberMap.prototype);
