import type { Server } from 'node:http';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Meter, VaultFigures } from '../core/meter.ts';

/** The prefix of the product's names. Those of Node and of the process are the usual ones, for common dashboards. */
const PREFIX = 'vault_';
/** The upper bounds of the durations, in seconds. */
const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** The upper bounds of the numbers of writes in a commit. */
const WRITES = [1, 2, 4, 8, 16, 32, 64, 128];

/** Receives the requests of a daemon, for metrics. */
export interface RequestMeter {
  /**
   * Records an answered request. `operation` is the id of an operation, or the name of one of the daemon's own paths;
   * absent for other requests. The duration is in milliseconds, absent for text that is not HTTP.
   */
  answered(operation: string | undefined, status: number, ms: number | undefined): void;
  /** Measures the connections of a server. */
  watchServer(server: Server): void;
}

/** The metrics of this process. */
export interface Metrics extends Meter, RequestMeter {
  /** Measures an open vault. */
  watchVault(figures: () => Promise<VaultFigures>): void;
  /** Records when the certificate of HTTPS ends, in milliseconds. */
  certificateEnds(at: number): void;
  /** Resolves to all metrics as Prometheus text. */
  text(): Promise<string>;
}

/** Creates the metrics of this process. `version` is the version of the product. */
export function createMetrics(version: string): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });

  const counter = <Label extends string>(name: string, help: string, labelNames: readonly Label[] = []) =>
    new Counter({ name: PREFIX + name, help, labelNames, registers });
  const gauge = <Label extends string>(name: string, help: string, labelNames: readonly Label[] = []) =>
    new Gauge({ name: PREFIX + name, help, labelNames, registers });
  const histogram = <Label extends string>(
    name: string,
    help: string,
    buckets: number[],
    labelNames: readonly Label[] = [],
  ) => new Histogram({ name: PREFIX + name, help, buckets, labelNames, registers });

  const requests = counter('requests_total', 'Answered requests.', ['operation', 'status']);
  const durations = histogram('request_duration_seconds', 'Time from the headers of a request to its reply.', SECONDS, [
    'operation',
  ]);
  const connections = gauge('connections', 'Open connections of clients.');
  const dropped = counter('dropped_connections_total', 'Connections closed because of --max-connections.');
  const writes = histogram('commit_writes', 'The number of writes in a commit.', WRITES);
  const waits = histogram('commit_wait_seconds', 'How long a write waited for its commit to begin.', SECONDS);
  const retries = counter('busy_retries_total', 'Attempts repeated because the store was locked or busy.');
  const sweeps = counter('sweeps_total', 'Removals of expired records.', ['result']);
  const swept = counter('swept_records_total', 'Expired records that were removed.');
  const ready = gauge('ready', '1 while the vault answers calls, else 0.');
  const writable = gauge('writable', '1 while writes succeed, else 0. A full disk is not counted.');
  const checked = gauge('audit_checked_timestamp_seconds', 'When the vault was last compared with its audit.');
  const findings = gauge('findings', 'The findings of the last comparison with the audit.');
  const tokens = gauge('tokens', 'Live tokens of all tenants.', ['type']);
  const auditLag = gauge('audit_lag_seconds', 'The age of the oldest audit entry that is not yet on disk.');
  const format = gauge('format_version', 'The format of the stored vault.');
  const masterKey = gauge('master_key_generation', 'The generation of the master key.');
  const keys = gauge('tenant_key_number', 'The largest key number of any tenant.', ['purpose']);
  const fileBytes = gauge('file_bytes', 'The size of the file.');
  const logBytes = gauge('wal_bytes', 'The size of the write-ahead log.');
  const freeSpace = gauge('free_bytes', "The free space of the file's file system.");
  const backup = gauge('backup_timestamp_seconds', 'When vault backup last made a copy, as a Unix time.');
  const certificateEnd = gauge(
    'tls_certificate_not_after_seconds',
    'When the first certificate of the chain in --tls-cert ends, as a Unix time.',
  );
  certificateEnd.remove(); // A gauge begins with 0.
  gauge('info', 'The version of the product.', ['version']).set({ version }, 1);

  // A rate needs a first sample, and an alert a series.
  for (const result of ['done', 'failed']) sweeps.inc({ result }, 0);

  let server: Server | undefined;
  let figures: (() => Promise<VaultFigures>) | undefined;

  async function measureVault(): Promise<void> {
    const found = await figures?.().catch(() => undefined);
    ready.set(found === undefined ? 0 : 1);
    if (found === undefined) return;
    for (const [type, count] of Object.entries(found.tokens)) tokens.set({ type }, count);
    for (const [purpose, number] of Object.entries(found.keys)) keys.set({ purpose }, number);
    auditLag.set(found.auditLag / 1000);
    format.set(found.format);
    masterKey.set(found.masterKey);
    writable.set(found.writable ? 1 : 0);
    show(fileBytes, found.sizes?.file);
    show(logBytes, found.sizes?.log);
    show(freeSpace, found.sizes?.free);
    show(backup, found.backedUpAt && found.backedUpAt / 1000);
  }

  function measureServer(): Promise<void> {
    return new Promise((resolve) => {
      if (server === undefined) resolve();
      server?.getConnections((_, count) => {
        connections.set(count);
        resolve();
      });
    });
  }

  return {
    answered(operation = 'other', status, ms) {
      requests.inc({ operation, status });
      if (ms !== undefined) durations.observe({ operation }, ms / 1000);
    },
    watchServer(watched) {
      server = watched;
      server.on('drop', () => dropped.inc());
    },
    watchVault(read) {
      figures = read;
    },
    certificateEnds: (at) => certificateEnd.set(at / 1000),
    committed(all) {
      writes.observe(all.length);
      for (const ms of all) waits.observe(ms / 1000);
    },
    retried: () => retries.inc(),
    swept(removed) {
      sweeps.inc({ result: removed === undefined ? 'failed' : 'done' });
      swept.inc(removed ?? 0);
    },
    checked(count, at) {
      findings.set(count);
      checked.set(at / 1000);
    },
    async text() {
      await Promise.all([measureVault(), measureServer()]);
      return registry.metrics();
    },
  };
}

/** Sets a gauge, or removes it: a gauge begins with 0. */
function show(gauge: Gauge, value: number | undefined): void {
  if (value === undefined) gauge.remove();
  else gauge.set(value);
}
