import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ENVIRONMENT, untilReady, VAULT_BIN } from './daemon-process.ts';
import { makeFolder } from './folder.ts';
import type { CanaryKind, Needle } from './leakage-canaries.ts';
import type { Hit, ScanResult, WatchResult } from './leakage-scanner.ts';

/** Kinds of canaries that a command may print on standard output. Standard error may contain none. */
export const SHOWS = {
  nothing: [],
  /** Output for a reader whose transform is mask or redact. */
  masked: ['sealed', 'clear'],
  revealed: ['sealed', 'clear', 'data'],
  key: ['sealed', 'clear', 'key'],
} as const satisfies Record<string, readonly CanaryKind[]>;

export type Shows = keyof typeof SHOWS;

interface RunOptions {
  readonly shows?: Shows;
  readonly stdin?: string | undefined;
  readonly exit?: number;
}

export type Workspace = ReturnType<typeof makeWorkspace>;

/** Makes the folders of one run: the check searches all but `given/`, the input of commands. */
export function makeWorkspace() {
  const folder = makeFolder();
  const inside = (name: string) => join(folder.path, name);
  const streams = ['stderr', ...Object.keys(SHOWS)].map((stream) => `written/${stream}`);
  for (const name of ['vault', 'tmp', 'given', ...streams]) mkdirSync(inside(name), { mode: 0o700, recursive: true });
  const file = inside('vault/vault.db');
  const ran = new Map<number, readonly string[]>();
  const children = new Set<ChildProcess>();
  /** Returns the folder for standard output that may show `stream`, or for standard error. */
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

  const kill = () => {
    for (const child of children) child.kill('SIGKILL');
  };
  process.once('exit', kill);

  return {
    file,
    keyFile: inside('given/vault.key'),
    /** A text in the environment of every process that this workspace starts. It identifies these processes. */
    marker: `VAULT_CONFIG_DIR=${inside('given')}`,
    inside,
    given(name: string, content?: string | Uint8Array): string {
      const path = inside(`given/${name}`);
      if (content !== undefined) writeFileSync(path, content, { mode: 0o600 });
      return path;
    },
    /** Runs a command of the built product to its end. Resolves to its standard output. */
    async vault(
      words: readonly string[],
      { shows = 'nothing', stdin = '', exit = 0 }: RunOptions = {},
    ): Promise<string> {
      const { child, out, err } = start(words, shows);
      child.stdin?.end(stdin);
      const [code] = await once(child, 'exit');
      if (code === exit) return readFileSync(out, 'utf8');
      throw new Error(`vault ${words.join(' ')} ended with ${code}, not ${exit}: ${readFileSync(err, 'utf8')}`);
    },
    async serve(flags: readonly string[], shows: Shows = 'nothing') {
      const ready = inside(`given/ready-${count}.json`);
      const { child, err } = start(['serve', '--port', '0', '--ready-file', ready, ...flags], shows);
      const { url } = await untilReady(child, ready, () => readFileSync(err, 'utf8'));
      return { url, child };
    },
    ran,
    written,
    [Symbol.dispose]() {
      process.removeListener('exit', kill);
      kill();
      folder[Symbol.dispose]();
    },
  };
}

export type Scanner = ReturnType<typeof startScanner>;

export function startScanner() {
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
    scan: (paths: readonly string[], needles: readonly Needle[]): Promise<ScanResult> => ask({ paths, needles }),
    watch: (marker: string): Promise<void> => ask({ marker }),
    /** Stops watching. Resolves to the command lines and environments of the watched processes. */
    seen: (): Promise<WatchResult> => ask('stop'),
    [Symbol.dispose]: () => child.disconnect(),
  };
}

export function describeHits(hits: readonly Hit[]): string {
  const named = hits.slice(0, 8).map(({ where, canary, encoding }) => `${canary} as ${encoding} in ${where}`);
  return `${hits.length} hits: ${named.join('; ')}`;
}
