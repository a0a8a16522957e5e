import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import { OPERATIONS } from '../../src/contract/operations.ts';
import { TOKEN_TYPE_NAMES, type TokenType } from '../../src/contract/token-types.ts';
import type { VaultFigures } from '../../src/core/meter.ts';
import { createMetrics } from '../../src/http/metrics.ts';
import { OWN_PATHS } from '../../src/http/routes.ts';

const DOCS = new URL('../../docs/', import.meta.url);
const DASHBOARD = readFileSync(new URL('grafana.json', DOCS), 'utf8');

const FIGURES: VaultFigures = {
  tokens: Object.fromEntries(TOKEN_TYPE_NAMES.map((type, n) => [type, n])) as Record<TokenType, number>,
  auditLag: 40,
  format: 1,
  masterKey: 2,
  keys: { data: 3, index: 4 },
  writable: true,
  backedUpAt: 1_750_000_000_000,
  sizes: { file: 4096, log: 512, free: 1e9 },
};

/** Creates metrics that have measured one of each. */
function measured(figures: Partial<VaultFigures> = {}) {
  const metrics = createMetrics('1.2.3');
  metrics.watchServer(createServer());
  metrics.watchVault(async () => ({ ...FIGURES, ...figures }));
  metrics.answered('getToken', 200, 1.5);
  metrics.answered(undefined, 400, undefined);
  metrics.committed([0.2, 4]);
  metrics.retried();
  metrics.swept(7);
  metrics.swept(undefined);
  metrics.checked(3, 1_700_000_000_000);
  metrics.certificateEnds(1_800_000_000_000);
  return metrics;
}

interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

function samplesOf(text: string): readonly Sample[] {
  return [...text.matchAll(/^(\w+)(?:\{(.*)\})? (\S+)$/gm)].map(([, name = '', labels = '', value]) => ({
    name,
    labels: Object.fromEntries([...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, key = '', of = '']) => [key, of])),
    value: Number(value),
  }));
}

/** Returns the names and types of the product's metrics, without those of the process and of Node. */
function ownTypes(text: string): readonly (readonly [name: string, type: string])[] {
  return [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].flatMap(([, name = '', type = '']) =>
    /^(process|nodejs)_/.test(name) ? [] : [[name, type] as const],
  );
}

/** The metrics that a daemon has only with TLS. */
const OF_TLS: readonly string[] = ['vault_tls_certificate_not_after_seconds'];

/** Returns the names that queries use and the metrics lack. */
function missingNames(queries: readonly string[], text: string): readonly string[] {
  const known = new Set([...samplesOf(text).map(({ name }) => name), ...OF_TLS]);
  return queries
    .flatMap((query) => query.match(/\b(?:vault|process|nodejs)_\w+/g) ?? ['a query without a metric'])
    .filter((name) => !known.has(name));
}

interface Target {
  readonly expr: string;
  readonly legendFormat: string;
}

/** Returns the queries of a dashboard, with their legends. */
function targetsOf(dashboard: string): readonly Target[] {
  return JSON.parse(dashboard).panels.flatMap((panel: { readonly targets: readonly Target[] }) => panel.targets);
}

const queriesOf = (dashboard: string) => targetsOf(dashboard).map(({ expr }) => expr);

describe('the metrics', () => {
  it('have the values that were measured', async () => {
    const samples = samplesOf(await measured().text());
    const find = (name: string, labels = {}) =>
      samples.find((one) => one.name === name && Object.entries(labels).every(([key, of]) => one.labels[key] === of))
        ?.value;
    expect(find('vault_requests_total', { operation: 'getToken', status: '200' })).toBe(1);
    expect(find('vault_requests_total', { operation: 'other', status: '400' })).toBe(1);
    expect(find('vault_request_duration_seconds_bucket', { operation: 'getToken', le: '0.001' })).toBe(0);
    expect(find('vault_request_duration_seconds_bucket', { operation: 'getToken', le: '0.0025' })).toBe(1);
    expect(find('vault_request_duration_seconds_count', { operation: 'other' })).toBeUndefined();
    expect(find('vault_commit_writes_sum')).toBe(2);
    expect(find('vault_commit_writes_count')).toBe(1);
    expect(find('vault_commit_wait_seconds_bucket', { le: '0.0005' })).toBe(1);
    expect(find('vault_busy_retries_total')).toBe(1);
    expect(find('vault_sweeps_total', { result: 'failed' })).toBe(1);
    expect(find('vault_swept_records_total')).toBe(7);
    expect(find('vault_ready')).toBe(1);
    expect(find('vault_tokens', { type: 'bank' })).toBe(FIGURES.tokens.bank);
    expect(find('vault_audit_lag_seconds')).toBe(0.04);
    expect(find('vault_format_version')).toBe(1);
    expect(find('vault_master_key_generation')).toBe(2);
    expect(find('vault_tenant_key_number', { purpose: 'index' })).toBe(4);
    expect(find('vault_file_bytes')).toBe(4096);
    expect(find('vault_wal_bytes')).toBe(512);
    expect(find('vault_free_bytes')).toBe(1e9);
    expect(find('vault_writable')).toBe(1);
    expect(find('vault_findings')).toBe(3);
    expect(find('vault_backup_timestamp_seconds')).toBe(1_750_000_000);
    expect(find('vault_audit_checked_timestamp_seconds')).toBe(1_700_000_000);
    expect(find('vault_info', { version: '1.2.3' })).toBe(1);
    expect(find('vault_tls_certificate_not_after_seconds')).toBe(1_800_000_000);
  });

  it('have the usual names of Node and of the process, for common dashboards', async () => {
    const text = await measured().text();
    const names = new Set(samplesOf(text).map(({ name }) => name));
    const linux = ['process_open_fds', 'process_max_fds', 'process_virtual_memory_bytes'];
    for (const name of [
      ...['process_cpu_seconds_total', 'process_cpu_user_seconds_total', 'process_cpu_system_seconds_total'],
      ...['process_resident_memory_bytes', 'process_start_time_seconds'],
      ...['nodejs_eventloop_lag_seconds', 'nodejs_eventloop_lag_p99_seconds'],
      ...['nodejs_heap_size_used_bytes', 'nodejs_heap_size_total_bytes', 'nodejs_external_memory_bytes'],
      ...['nodejs_heap_space_size_used_bytes', 'nodejs_active_handles_total', 'nodejs_active_resources_total'],
      ...['nodejs_version_info'],
      ...(process.platform === 'linux' ? linux : []),
    ]) {
      expect(names).toContain(name);
    }
    const started = samplesOf(text).find(({ name }) => name === 'process_start_time_seconds');
    expect(Math.abs(Number(started?.value) - (Date.now() / 1000 - process.uptime()))).toBeLessThan(5);
  });

  it('show no end of a certificate without TLS', async () => {
    const samples = samplesOf(await createMetrics('1.2.3').text());
    expect(samples.filter(({ name }) => name.startsWith('vault_tls_'))).toEqual([]);
  });

  it('of a vault that cannot be read still have the requests, and are not ready', async () => {
    const failing = measured();
    failing.watchVault(() => Promise.reject(new Error('locked')));
    const samples = samplesOf(await failing.text());
    const find = (name: string) => samples.find((one) => one.name === name)?.value;
    expect(find('vault_requests_total')).toBe(1);
    expect(find('vault_ready')).toBe(0);
  });

  it('count no sweeps before the first sweep, so that an alert can find out that none ran', async () => {
    const sweeps = samplesOf(await createMetrics('1.2.3').text()).filter(({ name }) => name === 'vault_sweeps_total');
    expect(sweeps.map(({ labels, value }) => [labels['result'], value])).toEqual([
      ['done', 0],
      ['failed', 0],
    ]);
  });

  it('count the open connections', async () => {
    const server = createServer().listen(0);
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const metrics = measured();
    metrics.watchServer(server);
    const socket = connect((server.address() as AddressInfo).port);
    await once(server, 'connection');
    expect(await metrics.text()).toContain('\nvault_connections 1\n');
    socket.destroy();
  });

  it('have the names that Prometheus expects', async () => {
    const text = await measured().text();
    const ends = { counter: /_total$/, histogram: /_(seconds|writes)$/, gauge: /(?<!_total|_count|_sum|_bucket)$/ };
    for (const [name, type] of ownTypes(text)) {
      expect(name).toMatch(/^vault_[a-z_]+$/);
      expect(name).toMatch(ends[type as keyof typeof ends]);
    }
  });

  it('have labels from fixed sets', async () => {
    const operations = [...Object.keys(OPERATIONS), ...Object.keys(OWN_PATHS), 'other'];
    const allowed: Readonly<Record<string, readonly string[]>> = {
      operation: operations,
      type: TOKEN_TYPE_NAMES,
      purpose: ['data', 'index'],
      result: ['done', 'failed'],
      version: ['1.2.3'],
    };
    const own = samplesOf(await measured().text()).filter(({ name }) => !/^(process|nodejs)_/.test(name));
    for (const { name, labels } of own) {
      for (const [label, value] of Object.entries(labels)) {
        if (label === 'status') expect(value).toMatch(/^[1-5]\d\d$/);
        else if (label === 'le') expect(value).toMatch(/^[\d.]+$|^\+Inf$/);
        else expect(allowed[label], `${name}: ${label}`).toContain(value);
      }
    }
  });

  it('are all in docs/service.md, and no others', async () => {
    const page = readFileSync(new URL('service.md', DOCS), 'utf8');
    const rows = page.match(/^\| `vault_[^|]*/gm) ?? [];
    const named = rows.flatMap((row) => row.match(/vault_\w+/g) ?? []);
    expect(named.toSorted()).toEqual(
      ownTypes(await measured().text())
        .map(([name]) => name)
        .toSorted(),
    );
  });
});

describe('docs/grafana.json', () => {
  it('uses only metrics that exist, and each of the product', async () => {
    const text = await measured().text();
    expect(missingNames(queriesOf(DASHBOARD), text)).toEqual([]);
    const unused = ownTypes(text).filter(([name]) => !DASHBOARD.includes(name));
    expect(unused).toEqual([]);
  });

  it('with a name that no metric has is found', async () => {
    const wrong = DASHBOARD.replace('vault_wal_bytes', 'vault_log_bytes');
    expect(missingNames(queriesOf(wrong), await measured().text())).toEqual(['vault_log_bytes']);
  });

  it('selects the chosen instances, and names the instance of each line or takes all as one', () => {
    const { list } = JSON.parse(DASHBOARD).templating;
    expect(list).toContainEqual(expect.objectContaining({ name: 'instance', multi: true, includeAll: true }));
    for (const { expr, legendFormat } of targetsOf(DASHBOARD)) {
      for (const [, selector] of expr.matchAll(/\b(?:vault|process|nodejs)_\w+(\{[^}]*\})?/g)) {
        expect(selector, expr).toContain('instance=~"$instance"');
      }
      const isOfAll = /^max by \((?:type|purpose)\)/.test(expr);
      expect(legendFormat.includes('{{instance}}'), expr).toBe(!isOfAll);
      if (/ by \(/.test(expr) && !isOfAll) expect(expr).toMatch(/ by \([^)]*\binstance\b/);
    }
    const byDaemon = targetsOf(DASHBOARD).map(({ expr, legendFormat }) => `${expr} ${legendFormat}`);
    expect(new Set(byDaemon).size).toBe(byDaemon.length);
  });

  it('shows the state of each daemon in words', () => {
    const panels: readonly { readonly type: string; readonly targets: readonly Target[] }[] =
      JSON.parse(DASHBOARD).panels;
    const ready = panels.find(({ targets }) => targets[0]?.expr.startsWith('vault_ready'));
    expect(ready).toMatchObject({
      type: 'stat',
      fieldConfig: { defaults: { mappings: [{ options: { 0: { text: 'not ready' } } }] } },
    });
  });
});

describe('deploy/alerts.yml', () => {
  const file = fileURLToPath(new URL('../deploy/alerts.yml', DOCS));
  const rules: readonly { readonly expr: string }[] = parse(readFileSync(file, 'utf8')).groups[0].rules;
  const queries = rules.map(({ expr }) => expr);

  it('uses only metrics that exist', async () => {
    const text = await measured().text();
    expect(queries.length).toBeGreaterThan(5);
    expect(missingNames(queries, text)).toEqual([]);
    expect(missingNames([...queries, 'vault_nothing == 0'], text)).toEqual(['vault_nothing']);
  });
});
