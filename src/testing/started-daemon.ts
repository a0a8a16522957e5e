import type { JsonObject } from '../contract/json.ts';

/** A daemon that accepts requests, wherever it runs. */
export interface StartedDaemon {
  readonly url: string;
  readonly keys: { readonly tenant_id: string; readonly management_key: string; readonly private_key: string };
  /** What `vault seed apply --out json` prints; undefined without a seed file. */
  readonly ids: JsonObject | undefined;
  /** Ends it and removes all that it made. Further calls wait for the first. */
  stop(): Promise<void>;
}
