import { type Loaded, useLoaded } from '../loaded.ts';
import { AsCommand } from '../parts/as-command.tsx';
import { HolderCommand, holderRun } from '../parts/holder-command.tsx';
import { counted, wholeNumber } from '../parts/numbers.ts';
import { Facts, Wrong } from '../parts/pieces.tsx';
import { aboutSession, ask, hasFile, isHeld, send } from '../session.ts';
import { vault } from '../vault.ts';
import { type KeyFacts, KeyTables } from './key-tables.tsx';

interface Ready {
  readonly isReady: boolean;
  readonly version: string;
  /** The problems of a ready vault, or the reason why the vault is not ready. */
  readonly notices: readonly string[];
  /** The number of tokens. Undefined without `report:read`. */
  readonly tokens: number | undefined;
}

/** The reply of `GET /ui/holder/file`. Sizes are in bytes. */
interface FileFacts {
  readonly file: string;
  readonly bytes: number;
  readonly log_bytes: number;
  readonly format: number;
}

/** The output of `vault doctor`. */
interface Checked {
  readonly ok: boolean;
  readonly checked: {
    readonly tenants: number;
    readonly applications: number;
    readonly tokens: number;
    readonly audit_entries: number;
  };
  readonly findings: readonly { readonly table: string; readonly id: string; readonly what: string }[];
  readonly notices: readonly string[];
}

const doctor = holderRun<Checked>('doctor');

/** Shows whether the vault is ready, and the state of its file and keys. */
export function Health() {
  const ready = useLoaded('ready', askReady);
  const file = useLoaded(hasFile() ? 'file' : undefined, (signal) => ask<FileFacts>('holder/file', { signal }));
  const keys = useLoaded(hasFile() ? 'keys' : undefined, (signal) => ask<KeyFacts>('holder/keys', { signal }));
  const { findings = [], notices = [] } = doctor.state.value.result ?? {};
  return (
    <div class="list">
      <header>
        <h1>Health</h1>
      </header>
      <div class="scroller cards">
        <Service of={ready} />
        <section class="card">
          <h2>File</h2>
          <Wrong>{file.error}</Wrong>
          {file.value !== undefined && (
            <Facts
              of={{
                File: <code>{file.value.file}</code>,
                Size: byteSize(file.value.bytes),
                Log: byteSize(file.value.log_bytes),
                Format: file.value.format,
              }}
            />
          )}
          <HolderCommand
            label="Doctor"
            run={doctor}
            command={{ text: 'vault doctor', needs: 'file' }}
            isGood={({ ok }) => ok}
            show={verdictOf}
          />
          <ul class="log">
            {[...findings.map(({ table, id, what }) => [table, id, what].filter(Boolean).join(' ')), ...notices].map(
              (text) => (
                <li key={text}>{text}</li>
              ),
            )}
          </ul>
          <h3>Backup</h3>
          <AsCommand of={{ text: 'vault backup COPY', needs: 'file' }} />
        </section>
        <section class="card">
          <h2>Keys</h2>
          <Wrong>{keys.error}</Wrong>
          {!hasFile() && <p class="note">Listing the keys requires the vault's file.</p>}
          {keys.value === undefined ? (
            <AsCommand of={{ text: 'vault keys list --tenants', needs: 'file' }} />
          ) : (
            <KeyTables of={keys.value} />
          )}
        </section>
      </div>
    </div>
  );
}

function Service({ of: { value, error } }: { readonly of: Loaded<Ready> }) {
  const about = aboutSession();
  const isDaemon = about !== undefined && /^(https?|unix):/.test(about.url);
  return (
    <section class="card">
      <h2>Vault</h2>
      <Wrong>{error}</Wrong>
      {value !== undefined && (
        <>
          <p class={value.isReady ? 'figure good' : 'figure bad'}>{value.isReady ? 'ready' : 'not ready'}</p>
          {value.notices.map((text) => (
            <Wrong key={text}>{text}</Wrong>
          ))}
          <Facts
            of={{
              Version: value.version,
              Where: <code>{about?.url}</code>,
              'Audit level': about?.audit_level,
              Tokens: value.tokens === undefined ? undefined : wholeNumber(value.tokens),
            }}
          />
        </>
      )}
      {isDaemon && <AsCommand of={{ text: 'vault wait', needs: 'daemon' }} />}
    </section>
  );
}

async function askReady(signal: AbortSignal): Promise<Ready> {
  const [ready, live] = await Promise.all([send('api/readyz', { signal }), send('api/livez', { signal })]);
  const { notices, detail }: { readonly notices?: readonly string[]; readonly detail?: string } = await ready.json();
  const { version }: { readonly version: string } = await live.json();
  const tokens = ready.ok && isHeld('report:read') ? await countTokens(signal) : undefined;
  return { isReady: ready.ok, version, notices: notices ?? (detail === undefined ? [] : [detail]), tokens };
}

async function countTokens(signal: AbortSignal): Promise<number> {
  const { token_report: report } = await vault.getUsageReport({ signal });
  return Object.values(report.metrics_by_type).reduce((sum, { count }) => sum + count, 0);
}

function verdictOf({ ok, checked, findings }: Checked) {
  const { tenants, applications, tokens, audit_entries: entries } = checked;
  const counts = { tenant: tenants, application: applications, token: tokens, 'audit entry': entries };
  const text = Object.entries(counts).map(([name, count]) => counted(count, name));
  return `${ok ? 'ok' : counted(findings.length, 'finding')}: ${text.join(', ')}`;
}

const UNITS = ['B', 'KB', 'MB', 'GB', 'TB'] as const;

/** Formats a number of bytes: `4.8 MB`. */
function byteSize(bytes: number): string {
  const power = bytes < 1000 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log10(bytes) / 3));
  return `${Number((bytes / 1000 ** power).toPrecision(3)).toLocaleString('en')} ${UNITS[power]}`;
}
