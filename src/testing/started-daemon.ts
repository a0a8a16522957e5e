/** A daemon that accepts requests, wherever it runs. */
export interface StartedDaemon {
  readonly url: string;
  readonly keys: { readonly tenant_id: string; readonly management_key: string; readonly private_key: string };
  /** Ends it and removes all that it made. Further calls wait for the first. */
  stop(): Promise<void>;
}
