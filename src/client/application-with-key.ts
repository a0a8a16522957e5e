import type { Application, ApplicationKey } from './api.generated.ts';

/** An application with its API key, which the vault shows only once. With `create_key: false` it has no `key`. */
export interface ApplicationWithKey extends Application {
  readonly key: string;
}

/** An API key with its text, which the vault shows only once. */
export interface ApplicationKeyWithText extends ApplicationKey {
  readonly key: string;
}
