import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ENVIRONMENT, untilReady, VAULT_BIN } from './daemon-process.ts';
import type { CanaryKind, Needle } from './leakage-canaries.ts';
import type { Hit, ScanResult, WatchResult } from './leakage-scanner.ts';

/** Kinds of canaries that a command may print on standard output. Standard error may contain none. */
export const SHOWS = {
  nothing: [],
  /** Output for a reader whose transform is mask or redact. */
  masked: ['sealed', 'clear'],
  revealed: ['sealed', 'clear', 'data'],
  /** Output for the creator of a key. */
  key: ['sealed', 'clear', 'key'],
} as const satisfies Record<string, readonly CanaryKind[]>;

export type Shows = keyof typeof SHOWS;

interface RunOptions {
  readonly shows?: Shows;
  readonly stdin?: string | undefined;
  /** The expected exit code. Default: 0. */
  readonly exit?: number;
}

/**
 * The folders of one run. The check searches `vault/`, `tmp/` and the command output in `written/`. It does not search
 * the command input in `given/`.
 */
export interface Workspace extends Disposable {
  readonly file: string;
  readonly keyFile: string;
  /** A text in the environment of every process that this workspace starts. It identifies these processes. */
  readonly marker: string;
  inside(name: string): string;
  given(name: string, content?: string | Uint8Array): string;
  /** Runs a command of the built product to its end. Resolves to its standard output. */
  vault(words: readonly string[], options?: RunOptions): Promise<string>;
  serve(flags: readonly string[], shows?: Shows): Promise<{ readonly url: string; readonly child: ChildProcess }>;
  /** The arguments of each command and daemon, by process id. */
  readonly ran: ReadonlyMap<number, readonly string[]>;
  /** Returns the folder for standard output that may show `stream`, or for standard error. */
  written(stream: Shows | 'stderr'): string;
}

export function makeWorkspace(): Workspace {
  const folder = mkdtempSync(join(tmpdir(), 'vault-leakage-'));
  const inside = (name: string) => join(folder, name);
  for (const name of [
    'vault',
    'tmp',
    'given',
    'written',
    ...['stderr', ...Object.keys(SHOWS)].map((s) => `written/${s}`),
  ]) {
    mkdirSync(inside(name), { mode: 0o700 });
  }
  const file = inside('vault/vault.db');
  const ran = new Map<number, readonly string[]>();
  const children = new Set<ChildProcess>();
  const written = (stream: Shows | 'stderr') => inside(`written/${stream}`);
  let count = 0;
  const env = {
    ...ENVIRONMENT,
    TMPDIR: inside('tmp'),
    TMP: inside('tmp'),
    TEMP: inside('tmp'),
    VAULT_CONFIG_DIR: inside('given'),
  };

  function start(words: readonly string[], shows: Shows) {
    const name = `${String(count++).padStart(4, '0')}.txt`;
    const [out, err] = [join(written(shows), name), join(written('stderr'), name)];
    const handles = [out, err].map((path) => openSync(path, 'w', 0o600));
    const child = spawn(process.execPath, [VAULT_BIN, ...words], {
      cwd: inside('tmp'),
      env,
      stdio: ['pipe', ...handles],
    });
    for (const handle of handles) closeSync(handle);
    // A command may exit before its unread standard input is written.
    child.stdin?.on('error', () => undefined);
    children.add(child);
    child.once('exit', () => children.delete(child));
    if (child.pid !== undefined) ran.set(child.pid, words);
    return { child, out, err };
  }

  const remove = () => {
    for (const child of children) child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  };
  process.once('exit', remove);

  return {
    file,
    keyFile: inside('given/vault.key'),
    marker: `VAULT_CONFIG_DIR=${inside('given')}`,
    inside,
    given(name, content) {
      const path = inside(`given/${name}`);
      if (content !== undefined) writeFileSync(path, content, { mode: 0o600 });
      return path;
    },
    async vault(words, { shows = 'nothing', stdin = '', exit = 0 } = {}) {
      const { child, out, err } = start(words, shows);
      child.stdin?.end(stdin);
      const [code] = await once(child, 'exit');
      if (code === exit) return readFileSync(out, 'utf8');
      throw new Error(`vault ${words.join(' ')} ended with ${code}, not ${exit}: ${readFileSync(err, 'utf8')}`);
    },
    async serve(flags, shows = 'nothing') {
      const ready = inside(`given/ready-${count}.json`);
      const { child, err } = start(['serve', '--port', '0', '--ready-file', ready, ...flags], shows);
      const { url } = await untilReady(child, ready, () => readFileSync(err, 'utf8'));
      return { url, child };
    },
    ran,
    written,
    [Symbol.dispose]() {
      process.removeListener('exit', remove);
      remove();
    },
  };
}

/** Searches for canaries from a separate process. */
export interface Scanner extends Disposable {
  scan(paths: readonly string[], needles: readonly Needle[]): Promise<ScanResult>;
  watch(marker: string): Promise<void>;
  /** Stops watching. Resolves to the command lines and environments of the watched processes. */
  seen(): Promise<WatchResult>;
}

export async function startScanner(): Promise<Scanner> {
  const script = join(import.meta.dirname, 'leakage-scanner.ts');
  const child = fork(script, ['scan'], {
    serialization: 'advanced',
    env: {},
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const ask = async (message: object | 'stop') => {
    child.send(message);
    const [answer] = await once(child, 'message');
    return answer;
  };
  return {
    scan: (paths, needles) => ask({ paths, needles }),
    watch: (marker) => ask({ marker }),
    seen: () => ask('stop'),
    [Symbol.dispose]: () => child.disconnect(),
  };
}

/** Lists the first hits without the leaked text. */
export function describeHits(hits: readonly Hit[]): string {
  const named = hits.slice(0, 8).map(({ where, canary, encoding }) => `${canary} as ${encoding} in ${where}`);
  return `${hits.length} hits: ${named.join('; ')}`;
}
