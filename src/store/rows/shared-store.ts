import { applicationKeyMethods } from './application-keys.ts';
import { applicationMethods } from './applications.ts';
import type { SharedParts } from './dialect.ts';
import { headerMethods } from './headers.ts';
import { inspectionMethods } from './inspected-rows.ts';
import { replyMethods } from './stored-replies.ts';
import { sweepMethods } from './sweeps.ts';
import { tenantMethods } from './tenants.ts';
import { usageMethods } from './usage.ts';

/** Returns the methods that are the same in all stores, except for a dialect. */
export function sharedMethods(parts: SharedParts) {
  return {
    ...tenantMethods(parts),
    ...applicationMethods(parts),
    ...applicationKeyMethods(parts),
    ...replyMethods(parts),
    ...headerMethods(parts),
    ...sweepMethods(parts),
    ...inspectionMethods(parts),
    ...usageMethods(parts),
  };
}
