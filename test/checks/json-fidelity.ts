import { readFileSync } from 'node:fs';
import { type Check, CheckFailure, type CheckOptions } from './check.ts';
import { canonical, jsonText, memberText } from './json-fidelity-text.ts';
import { inParallel, type Perform, seededNumbers } from './perform.ts';
import { startServedVault } from './served-vault.ts';
import { withVault } from './vault-file.ts';

const FULL = 50_000;
const QUICK = 2_000;
const WIDTH = 24;

interface Run {
  readonly cases: number;
  readonly seed: number;
  /** Used by the control: alters each reply before the comparison. */
  readonly through?: (text: string) => string;
}

/**
 * Creates and patches each text over HTTP, reads it from a restored backup, and finds it in an export. All four values
 * must equal the text that was sent.
 */
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
