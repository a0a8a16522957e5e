import { createWriteStream } from 'node:fs';
import { mkdtemp, rm, statfs } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { finished } from 'node:stream/promises';
import { BIN, bareEnvironment, run } from './run-vault.js';

const CARD = { number: '4242424242424242', expiration_month: 12, expiration_year: 2030, cvc: '123' };

/** How many tokens share one value of the metadata: a page of the default size. */
export const TOKENS_A_CUSTOMER = 20;

/** A file system in memory with this much room is good for what is not to depend on a disk. */
const MEMORY = '/dev/shm';
const MEMORY_NEEDED = 512 * 1024 ** 2;

const padded = (number) => String(number).padStart(8, '0');
export const customer = (number) => `customer-${padded(number)}`;

/** The body of a request that creates a card with its defaults and two members of metadata. */
export function cardBody(n) {
  const metadata = { customer: customer(Math.floor(n / TOKENS_A_CUSTOMER)), order: `order-${padded(n)}` };
  return JSON.stringify({ type: 'card', data: CARD, metadata });
}

/** Lines for `vault import`. */
export async function writeCardLines(file, count) {
  const out = createWriteStream(file);
  for (let n = 0; n < count; n += 1) {
    if (!out.write(`${cardBody(n)}\n`)) await new Promise((resolve) => out.once('drain', resolve));
  }
  out.end();
  await finished(out);
}

/**
 * A vault in `folder` with applications named after what they are shown; `keys.wrong` is well made, but its application is
 * gone. `env` is of whoever holds the file.
 */
export async function makeBenchVault(folder, bare) {
  const file = path.join(folder, 'vault.db');
  const vault = async (args, env) => JSON.parse(await run([BIN, ...args, '--output', 'json'], env));
  const { application } = await vault(['init', '--file', file], bare);
  const env = { ...bare, VAULT_FILE: file };
  const make = (name, rule) =>
    vault(['apps', 'create', '--name', name, '--type', 'private', '--rule', rule], {
      ...env,
      VAULT_API_KEY: application.key,
    });
  const all = 'permissions=token:read,token:create,token:update,token:delete';
  const reveal = await make('reveal', `container=/ transform=reveal ${all}`);
  const mask = await make('mask', 'container=/ transform=mask permissions=token:read');
  const deny = await make('deny', 'container=/elsewhere/ transform=mask permissions=token:read');
  const gone = await make('gone', 'container=/ transform=mask permissions=token:read');
  await run([BIN, 'apps', 'delete', gone.id, '--yes'], { ...env, VAULT_API_KEY: application.key });
  const keys = { management: application.key, reveal: reveal.key, mask: mask.key, deny: deny.key, wrong: gone.key };
  return { file, env, keys };
}

/** `vault import` of `count` cards. Answers how long the command took, in seconds. */
export async function importCards({ file, env, keys }, count) {
  const lines = `${file}.ndjson`;
  await writeCardLines(lines, count);
  const started = performance.now();
  await run([BIN, 'import', lines], { ...env, VAULT_API_KEY: keys.reveal });
  const seconds = (performance.now() - started) / 1000;
  await rm(lines);
  return seconds;
}

/** Does work in a folder that is gone afterwards; `bare` is the environment of its commands. */
export async function withFolder({ ownEnvironment, parent = os.tmpdir() }, work) {
  const folder = await mkdtemp(path.join(parent, 'vault-bench-'));
  try {
    return await work(folder, bareEnvironment(folder, { own: ownEnvironment }));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** A folder in memory where there is one with room, else undefined. */
export async function folderInMemory() {
  const space = await statfs(MEMORY).catch(() => undefined);
  return space !== undefined && space.bavail * space.bsize >= MEMORY_NEEDED ? MEMORY : undefined;
}
