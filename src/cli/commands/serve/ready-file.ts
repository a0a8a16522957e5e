import { rmSync } from 'node:fs';
import { parseText } from '../../../client/decode-problem.ts';
import type { Json, JsonObject } from '../../../contract/json.ts';
import { errorCode, Fault } from '../../../core/fault.ts';
import { type Printable, stringifyJson } from '../../../core/json/stringify.ts';
import { atExit } from '../../../paths/at-exit.ts';
import { readReplaceable } from '../../../paths/replaceable.ts';
import { reasonOf } from '../../exit/error-reason.ts';
import { filePath } from '../../files/output-path.ts';
import { assertPrivate, readSecretFile } from '../../files/secret-file.ts';
import { writeWholeFile } from '../../files/whole-file.ts';
import { asObject } from '../../output/result-view.ts';

/** The contents of the file of `vault serve --ready-file`: the daemon's URL and, with `--dev`, its keys. */
export interface Ready {
  readonly url: string;
  readonly pid: number;
  readonly version: string;
  /** The prefix of the header names; absent for the default prefix. */
  readonly header_prefix?: string;
  readonly tenant_id?: string;
  readonly management_key?: string;
  readonly private_key?: string;
  /** The link that opens the console. */
  readonly ui?: string;
  /** The URL of the metrics. */
  readonly metrics?: string;
  /** For a vault with a seed: the ids and keys that `vault seed apply --out -` prints. */
  readonly seed?: JsonObject;
}

/**
 * Writes a ready file (0600), which appears only when it is complete. Removes it when the process exits, unless another
 * daemon has replaced it. Replaces an older ready file and an empty file. Rejects with `usage` for a file with other
 * content, such as a vault that the user named by mistake, and with `file_unsafe` for a file that others can open and
 * for a device, a named pipe or a link.
 */
export async function writeReadyFile(path: string, content: Ready): Promise<void> {
  checkReadyFile(path);
  await writeWholeFile('--ready-file', path, `${stringifyJson({ ...content } as Printable)}\n`, 'replace');
  atExit(() => {
    if (readPid(path) === content.pid) rmSync(path, { force: true });
  });
}

/**
 * Throws as `writeReadyFile` does. Call it before this process opens a vault, too: reading a vault that is open here,
 * named by mistake, would drop SQLite's locks.
 */
export function checkReadyFile(path: string): void {
  filePath('--ready-file', path);
  let bytes: Buffer | undefined;
  try {
    bytes = readReplaceable(path, '--ready-file', (opened) => assertPrivate(path, opened));
  } catch (error) {
    if (error instanceof Fault) throw error;
    throw new Fault('usage', `--ready-file: ${path} cannot be read (${reasonOf(error)})`, { cause: error });
  }
  if (bytes !== undefined && bytes.length > 0 && parseReady(bytes.toString('utf8')) === undefined) throw foreign(path);
}

function foreign(path: string): Fault {
  return new Fault('usage', `--ready-file: ${path} was not written by \`vault serve --ready-file\``);
}

/** Returns the process id in a ready file, or undefined if the file cannot be read. */
function readPid(path: string): number | undefined {
  try {
    return parseReady(readReplaceable(path)?.toString('utf8') ?? '')?.pid;
  } catch {
    return undefined;
  }
}

/** Resolves to the contents of a ready file; to undefined without one. Rejects with `usage` and `file_unsafe`. */
export async function readReadyFile(path: string): Promise<Ready | undefined> {
  let text: string;
  try {
    text = (await readSecretFile('--ready-file', path)).toString('utf8');
  } catch (error) {
    if (error instanceof Fault && errorCode(error.cause) === 'ENOENT') return undefined;
    throw error;
  }
  const ready = parseReady(text);
  if (ready !== undefined) return ready;
  throw foreign(path);
}

/** Returns the contents of a ready file, or undefined for other text. */
export function parseReady(text: string): Ready | undefined {
  const value = parseText(text) as object | null | undefined;
  const { url, pid, version, ...others }: Readonly<Record<string, unknown>> = { ...value };
  if (!isWord(url) || typeof pid !== 'number' || !isWord(version)) return undefined;
  const known = ['header_prefix', 'tenant_id', 'management_key', 'private_key', 'ui', 'metrics'] as const;
  const keys = known.flatMap((name) => (isWord(others[name]) ? [[name, others[name]] as const] : []));
  const seed = asObject((others['seed'] ?? null) as Json);
  return { url, pid, version, ...Object.fromEntries(keys), ...(seed !== undefined && { seed }) };
}

/** Returns whether a value is text without control characters, which a shell or a terminal could interpret. */
function isWord(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && !/\p{Cc}/u.test(value);
}
