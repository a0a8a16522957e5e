import { readFileSync } from 'node:fs';
import { type Check, CheckFailure, type CheckOptions } from './check.ts';
import { inParallel, type Perform, seededNumbers } from './perform.ts';
import { startServedVault } from './served-vault.ts';
import { withVault } from './vault-file.ts';

/** Generates and compares JSON texts without the vault's JSON parser. */

type Random = () => number;

const pick = <T>(random: Random, list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
const MAX_DEPTH = 8;
const NUMBERS = [
  ...['0', '-0', '1', '-1', '0.0', '1.10', '1.0', '100', '1e5', '1E5', '1e+05', '1e-400', '1E400', '0.1', '-1.50'],
  ...['9007199254740993', '-9007199254740993', '18446744073709551616', '12345678901234567890.123456789', '1e0', '0e0'],
  ...['3.141592653589793238462643383279', '4.9e-324', '1.7976931348623157e308', '2e308', '0.30000000000000004'],
];
const NAMES = [...'__proto__ constructor toString hasOwnProperty a A 1 10 2 data é e\u0301'.split(' '), '', ' '];
/** String pieces in JSON notation, without the quotes. */
const PIECES = [
  ...['a', 'Z', '0', ' ', '{{ data }}', '{% if %}', '\\"', '\\\\', '\\/', '/', '\\b', '\\f', '\\n', '\\r', '\\t'],
  ...['\\u0000', '\\u001f', '\u007f', '\\u007F', 'é', '\\u00e9', '\u2028', '\\u2029', '\ufeff', '\\uFFFF', '💳'],
  ...['\\ud83d\\udcb3', '\\ud800', '\\uDFFF', '\\udcb3\\ud83d', 'key_', "'", '<', '漢字', '\u202e', '\\u0041'],
];

const spaces = (random: Random) => (random() < 0.8 ? '' : pick(random, [' ', '\n', '\t', '\r\n', '   ']));

function stringText(random: Random): string {
  const length = random() < 0.02 ? 400 : Math.floor(random() * 6);
  return `"${Array.from({ length }, () => pick(random, PIECES)).join('')}"`;
}

function numberText(random: Random): string {
  if (random() < 0.5) return pick(random, NUMBERS);
  const digits = () => Array.from({ length: 1 + Math.floor(random() * 24) }, () => Math.floor(random() * 10)).join('');
  const whole = `${pick(random, ['', '-'])}${pick(random, ['', digits()]).replace(/^0+/, '') || '0'}`;
  const fraction = random() < 0.5 ? `.${digits()}` : '';
  const exponent = random() < 0.3 ? `${pick(random, ['e', 'E', 'e+', 'E-'])}${Math.floor(random() * 400)}` : '';
  return whole + fraction + exponent;
}

function objectText(random: Random, depth: number): string {
  const taken = new Set<unknown>();
  const members: string[] = [];
  for (let size = Math.floor(random() * 5); size > 0; size--) {
    const name = random() < 0.5 ? JSON.stringify(pick(random, NAMES)) : stringText(random);
    // The vault rejects duplicate member names, in any notation.
    if (taken.has(JSON.parse(name))) continue;
    taken.add(JSON.parse(name));
    members.push(`${spaces(random)}${name}${spaces(random)}:${spaces(random)}${valueText(random, depth + 1)}`);
  }
  return `{${members.join(',')}${spaces(random)}}`;
}

function valueText(random: Random, depth: number): string {
  const kind = random() * (depth >= MAX_DEPTH ? 0.6 : 1);
  if (kind < 0.28) return stringText(random);
  if (kind < 0.5) return numberText(random);
  if (kind < 0.6) return pick(random, ['true', 'false', 'null']);
  if (kind < 0.8) return objectText(random, depth);
  const items = Array.from({ length: Math.floor(random() * 5) }, () => valueText(random, depth + 1) + spaces(random));
  return `[${items.join(',')}${spaces(random)}]`;
}

function jsonText(random: Random): string {
  for (;;) {
    const text = valueText(random, 0);
    if (text !== 'null') return text;
  }
}

const TOKEN = /\s+|("(?:[^"\\]|\\.)*")|-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null|[{}[\],:]/gsu;

/** Splits a text into tokens without spaces, with strings in one notation. Numbers keep theirs. */
function tokens(text: string): string[] {
  let end = 0;
  const found: string[] = [];
  for (const match of text.matchAll(TOKEN)) {
    if (match.index !== end) throw new Error(`not JSON at ${end}: ${text.slice(end, end + 40)}`);
    end += match[0].length;
    if (match[1] !== undefined) found.push(JSON.stringify(JSON.parse(match[1])));
    else if (match[0].trim() !== '') found.push(match[0]);
  }
  if (end !== text.length) throw new Error(`not JSON at ${end}: ${text.slice(end, end + 40)}`);
  return found;
}

function canonical(text: string): string {
  return tokens(text).join('');
}

/** Returns the canonical text of a member of the outermost object. */
function memberText(text: string, name: string): string | undefined {
  const all = tokens(text);
  const wanted = JSON.stringify(name);
  let depth = 0;
  for (const [index, token] of all.entries()) {
    if (depth === 1 && token === wanted && all[index + 1] === ':') return valueFrom(all, index + 2);
    if (token === '{' || token === '[') depth++;
    if (token === '}' || token === ']') depth--;
  }
  return undefined;
}

function valueFrom(all: readonly string[], start: number): string {
  let depth = 0;
  for (let index = start; index < all.length; index++) {
    const token = all[index] ?? '';
    if (token === '{' || token === '[') depth++;
    if (token === '}' || token === ']') depth--;
    if (depth === 0) return all.slice(start, index + 1).join('');
  }
  throw new Error('not JSON: it ends inside a value');
}

const FULL = 50_000;
const QUICK = 2_000;
const WIDTH = 24;

interface Run {
  readonly cases: number;
  readonly seed: number;
  /** Used by the control: alters each reply before the comparison. */
  readonly through?: (text: string) => string;
}

/** Sends each text through create, patch, backup and export. All four values must equal it. */
async function compare({ cases, seed, through = (text) => text }: Run) {
  await using vault = await startServedVault();
  const random = seededNumbers(seed);
  const texts = Array.from({ length: cases }, () => jsonText(random));
  const ids = new Map<string, string>();
  const figures = { cases, created: 0, patched: 0, restored: 0, exported: 0, bytes: 0, differences: 0 };
  let first = '';

  type Place = 'created' | 'patched' | 'restored' | 'exported';

  function hold(place: Place, sent: string, data: string | undefined): void {
    figures[place]++;
    if (data === canonical(sent)) return;
    figures.differences++;
    first ||= `${place}: ${sent.slice(0, 300)} came back as ${data?.slice(0, 300)}`;
  }

  const dataOf = ({ status, text }: Awaited<ReturnType<Perform>>) =>
    status < 300 ? memberText(through(text), 'data') : `${status} ${text}`;

  await inParallel(cases, WIDTH, async (index) => {
    const sent = texts[index] ?? '';
    figures.bytes += sent.length;
    const mask = '{{ data }}';
    // A create returns the masked form; this mask shows the whole value.
    const bodyText = `{"type":"token","mask":"${mask}","data":${sent}}`;
    const made = await vault.remote(vault.everything, 'createToken', { bodyText });
    const id = String(made.body['id']);
    ids.set(id, sent);
    hold('created', sent, dataOf(made));
    hold('patched', sent, dataOf(await vault.remote(vault.everything, 'updateToken', { id, body: {} })));
  });

  const [backup, file] = [`${vault.file}.backup`, `${vault.file}.restored`];
  const key = `${vault.file}.key`;
  await vault.cli(['backup', backup, '--key-file', key], '');
  await vault.cli(['restore', backup, '--file', file, '--key-file', key], '');
  const credential = { kind: 'key_file', key: new Uint8Array(readFileSync(key)) } as const;
  await withVault({ file, credential }, async (perform) => {
    for (const [id, sent] of ids) hold('restored', sent, dataOf(await perform(vault.everything, 'getToken', { id })));
  });

  const exported = `${vault.file}.ndjson`;
  await vault.cli(['export', '--plaintext', '--out', exported], vault.everything);
  for (const line of readFileSync(exported, 'utf8').split('\n')) {
    if (line === '') continue;
    const id: unknown = JSON.parse(memberText(line, 'id') ?? 'null');
    hold('exported', ids.get(String(id)) ?? 'null', memberText(through(line), 'data'));
  }
  if (figures.differences > 0) throw new CheckFailure(first, figures);
  const { created, patched, restored, exported: listed } = figures;
  if ([ids.size, created, patched, restored, listed].some((count) => count !== cases)) {
    throw new CheckFailure('not every value was found in every place', figures);
  }
  return figures;
}

const run = ({ seed, quick }: CheckOptions) => compare({ cases: quick ? QUICK : FULL, seed });

/** Passes replies through the built-in JSON parser, which must lose digits. */
const control = ({ seed }: CheckOptions) =>
  compare({ cases: 200, seed, through: (text) => JSON.stringify(JSON.parse(text)) });

export const CHECK: Check = { number: 12, name: 'JSON fidelity', quick: false, runs: 'early', run, control };
