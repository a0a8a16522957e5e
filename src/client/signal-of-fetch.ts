/** The part of Node that creates its own controllers. Browsers have no `process`. */
interface Host {
  readonly process?: { getBuiltinModule?(name: 'node:util'): { transferableAbortController(): AbortController } };
}

/**
 * Returns a signal that the global `fetch` accepts and that aborts with `signal`. Node's `fetch` accepts only signals
 * of Node. The environment jsdom of test runners replaces `AbortController`, but not always `fetch`.
 */
export function signalOfFetch(signal: AbortSignal): AbortSignal {
  const { process } = globalThis as object as Host;
  const controller = process?.getBuiltinModule?.('node:util').transferableAbortController();
  if (controller === undefined || Object.getPrototypeOf(controller.signal) === Object.getPrototypeOf(signal)) {
    return signal;
  }
  const abort = (): void => controller.abort(signal.reason);
  if (signal.aborted) abort();
  else signal.addEventListener('abort', abort, { once: true });
  return controller.signal;
}
