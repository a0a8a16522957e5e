import { type Steps, settled } from './steps.ts';

export interface LoadedOnce<T> {
  (): Promise<T>;
  /** The result of the load; undefined before. */
  loaded?: T;
}

/**
 * Returns a loader that calls `load` on its first call and keeps the result. The loader retries after a failure, such
 * as too few descriptors.
 */
export function loadedOnce<T>(load: () => Promise<T>): LoadedOnce<T> {
  let loading: Promise<T> | undefined;

  async function loadFirst(): Promise<T> {
    try {
      once.loaded = await load();
      return once.loaded;
    } catch (error) {
      loading = undefined;
      throw error;
    }
  }

  const once: LoadedOnce<T> = () => {
    loading ??= loadFirst();
    return loading;
  };
  return once;
}

/** Returns what was loaded, after a load if it was not. */
export function* loaded<T>(once: LoadedOnce<T>): Steps<T> {
  return once.loaded ?? (yield* settled(once()));
}
