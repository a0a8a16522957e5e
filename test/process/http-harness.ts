import { Pool } from 'undici';
import { afterEach, vi } from 'vitest';
import { Fault } from '../../src/core/fault.ts';
import { type Daemon, startDaemon } from '../../src/http/daemon.ts';
import type { DaemonOptions } from '../../src/http/daemon-options.ts';
import { daemonOptions, type EchoClient, echoClient, KEY } from './http-fixture.ts';

/** Clean-up steps that run after each test, last first. */
export const undo: (() => unknown)[] = [];

afterEach(async () => {
  vi.restoreAllMocks();
  for (const step of undo.splice(0).reverse()) await step();
});

export async function start(changes: Partial<DaemonOptions> = {}) {
  const client = echoClient();
  const daemon = await startDaemon(client, daemonOptions(changes));
  undo.push(() => daemon.stop());
  const port = daemon.port ?? 0;
  const get = (path: string, headers = `SVC-API-KEY: ${KEY}\r\n`) =>
    `GET ${path} HTTP/1.1\r\nHost: localhost:${port}\r\n${headers}\r\n`;
  return { client, daemon, port, get };
}

/** Creates a promise and the function that resolves it. */
export function makeGate(): { readonly opened: Promise<void>; readonly open: () => void } {
  const { promise: opened, resolve: open } = Promise.withResolvers<void>();
  return { opened, open };
}

/** Makes calls wait until the returned function is called. */
export function shut(client: EchoClient): () => void {
  const { opened, open } = makeGate();
  client.gate = opened;
  return open;
}

export function pool(daemon: Daemon, options: Pool.Options = {}): Pool {
  const made = new Pool(daemon.url, options);
  undo.push(() => made.close());
  return made;
}

export const faultCode = (error: unknown) => (error instanceof Fault ? error.code : error);

export const AUTH = { 'svc-api-key': KEY };
