import type { Application } from './api.generated.ts';

/** An application with its API key, which the vault shows only once. */
export interface ApplicationWithKey extends Application {
  readonly key: string;
}
