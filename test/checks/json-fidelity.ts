import { type Check, CheckFailure, type CheckOptions } from './check.ts';
import { canonical, jsonText, memberText } from './json-fidelity-text.ts';
import { inParallel, type Perform, seededNumbers } from './perform.ts';
import { type ServedVault, serveVault } from './served-vault.ts';

const FULL = 50_000;
const QUICK = 2_000;
const WIDTH = 24;

interface Run {
  readonly cases: number;
  readonly seed: number;
  /** What stands between a reply and the comparison: nothing, but for the control. */
  readonly through?: (text: string) => string;
}

/** Each text is created over HTTP, patched with `{}` over HTTP, and read on the file: three replies to compare. */
async function compare(vault: ServedVault, { cases, seed, through = (text) => text }: Run) {
  const random = seededNumbers(seed);
  const texts = Array.from({ length: cases }, () => jsonText(random));
  const figures = { cases, compared: 0, bytes: 0, differences: 0 };
  let first = '';

  async function hold(where: string, sent: string, reply: Awaited<ReturnType<Perform>>) {
    figures.compared++;
    const data = reply.status < 300 ? memberText(through(reply.text), 'data') : `${reply.status} ${reply.text}`;
    if (data === canonical(sent)) return;
    figures.differences++;
    first ||= `${where}: ${sent.slice(0, 300)} came back as ${data?.slice(0, 300)}`;
  }

  await inParallel(cases, WIDTH, async (index) => {
    const sent = texts[index] ?? '';
    figures.bytes += sent.length;
    const mask = '{{ data }}';
    // Create answers with the masked form: with the whole as its mask, that is the value as an expression gives it.
    const bodyText = `{"type":"token","mask":"${mask}","data":${sent}}`;
    const made = await vault.remote(vault.everything, 'createToken', { bodyText });
    const id = String(made.body['id']);
    await hold('create', sent, made);
    await hold('patch {}', sent, await vault.remote(vault.everything, 'updateToken', { id, body: {} }));
    await hold('get on the file', sent, await vault.direct(vault.everything, 'getToken', { id }));
  });
  if (figures.differences > 0) throw new CheckFailure(first, figures);
  return figures;
}

async function served<T>(work: (vault: ServedVault) => Promise<T>): Promise<T> {
  const vault = await serveVault();
  try {
    await vault.start();
    return await work(vault);
  } finally {
    await vault.close();
  }
}

const run = ({ seed, quick }: CheckOptions) => served((vault) => compare(vault, { cases: quick ? QUICK : FULL, seed }));

/** With the built-in parser and printer in between: numbers lose digits. */
const control = ({ seed }: CheckOptions) =>
  served((vault) => compare(vault, { cases: 200, seed, through: (text) => JSON.stringify(JSON.parse(text)) }));

export const CHECK: Check = { number: 12, name: 'JSON fidelity', quick: false, runs: 'early', run, control };
