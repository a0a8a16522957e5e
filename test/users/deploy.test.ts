import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from 'pg';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import { createDatabase } from '../postgres/create-database.ts';
import { type Ended, endOf, makePlace, type Place, VAULT_BIN } from '../process/cli-fixture.ts';
import { cleanEnvironment } from '../scripts/run-script.ts';

const read = (name: string) => readFileSync(fileURLToPath(new URL(`../../deploy/${name}`, import.meta.url)), 'utf8');

interface Service {
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}
const SERVICES: Readonly<Record<string, Service>> = parse(read('compose.yaml')).services;
const service = (name: string): Service => SERVICES[name] ?? { command: [], environment: {} };

/** The instructions of the Containerfile, with lines joined. */
const CONTAINER = read('Containerfile').replaceAll('\\\n', '');
const containerEnvironment = Object.fromEntries(
  [...(/^ENV (.*)$/m.exec(CONTAINER)?.[1] ?? '').matchAll(/(\w+)=(\S+)/g)].map(([, name, value]) => [name, value]),
);
const lastWords = (instruction: string): readonly string[] =>
  JSON.parse(
    CONTAINER.match(new RegExp(`^${instruction} .*?(\\[.*\\])$`, 'gm'))
      ?.at(-1)
      ?.replace(/^[^[]*/, '') ?? '[]',
  );

/** A folder for the container's /var/lib/vault, with programs on its PATH. */
function machine(programs: Readonly<Record<string, string>> = {}): Place {
  const place = makePlace(onTestFinished);
  mkdirSync(place.inside('bin'));
  for (const [name, text] of Object.entries({ vault: `exec '${process.execPath}' '${VAULT_BIN}' "$@"`, ...programs })) {
    writeFileSync(place.inside(`bin/${name}`), `#!/bin/sh\n${text}\n`);
    chmodSync(place.inside(`bin/${name}`), 0o755);
  }
  return place;
}

/** Runs a command line in the folder of the place, as a container or a unit does. */
function run(place: Place, [program = '', ...words]: readonly string[], env: Readonly<Record<string, string>>) {
  const PATH = `${place.inside('bin')}${path.delimiter}${process.env['PATH'] ?? ''}`;
  const text = (value: string) => value.replaceAll('/var/lib/vault', place.cwd);
  const own = Object.fromEntries(Object.entries(env).map(([name, value]) => [name, text(value)]));
  const child = spawn(program, words.map(text), {
    cwd: place.cwd,
    env: cleanEnvironment({ ...own, PATH, VAULT_PORT: '0' }),
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

const ended = (child: ReturnType<typeof run>): Promise<Ended> => endOf(child, 60_000);

/** Resolves to the URL of a daemon when it listens. */
async function urlOf({ stderr }: ReturnType<typeof run>): Promise<string> {
  let text = '';
  for await (const piece of stderr) {
    text += piece;
    const [, port] = /listening on http:\/\/[^\n]*:(\d+)\n/.exec(text) ?? [];
    if (port !== undefined) return `http://127.0.0.1:${port}`;
  }
  throw new Error(`no daemon: ${text}`);
}

async function isHealthy(place: Place, url: string): Promise<Ended> {
  const words = lastWords('HEALTHCHECK').map((word) => word.replace('http://127.0.0.1:8484', url));
  return ended(run(place, words, {}));
}

describe.runIf(process.platform !== 'win32')('deploy/', { timeout: 120_000 }, () => {
  it('compose.yaml makes a vault once, and its daemons serve it', async () => {
    const place = machine();
    const database = await createDatabase();
    const admin = new Client({ connectionString: database });
    await admin.connect();
    onTestFinished(() => admin.end());
    const name = new URL(database).pathname.slice(1);
    // The roles of a server outlive the test.
    const roles = Object.fromEntries(['vault_owner', 'vault_daemon'].map((role) => [role, `${role}_of_${name}`]));
    for (const create of [
      'CREATE ROLE vault_owner LOGIN',
      /^CREATE ROLE \w+ LOGIN/m.exec(read('roles.sql'))?.[0] ?? '',
    ]) {
      await admin.query(create.replace(/vault_\w+/, (role) => roles[role] ?? ''));
    }
    await admin.query(`ALTER DATABASE ${name} OWNER TO ${roles['vault_owner']}`);
    const environmentOf = (title: string) => {
      const { VAULT_STORE = '', ...own } = service(title).environment;
      const url = new URL(database);
      url.username = roles[/\/\/(\w+)@/.exec(VAULT_STORE)?.[1] ?? ''] ?? 'nobody';
      return { ...containerEnvironment, ...own, VAULT_STORE: `${url}?sslmode=disable`, PGPASSWORD: 'vault' };
    };
    const words = service('init').command.map((word) =>
      word.replaceAll('$$', '$').replace('vault_daemon', roles['vault_daemon'] ?? ''),
    );
    for (const made of ['first', 'again']) {
      expect(await ended(run(place, words, environmentOf('init'))), made).toMatchObject({ exitCode: 0 });
    }
    const key = readFileSync(place.inside('management.key'), 'utf8').trim();
    for (const name of ['vault-1', 'vault-2']) {
      const url = await urlOf(run(place, service(name).command, environmentOf(name)));
      expect(await isHealthy(place, url)).toMatchObject({ exitCode: 0 });
      const reply = await fetch(`${url}/tenants/self`, { headers: { 'SVC-API-KEY': key } });
      expect(reply.status).toBe(200);
    }
    const { rows } = await admin.query(
      'SELECT DISTINCT usename FROM pg_stat_activity WHERE datname = current_database()',
    );
    expect(rows.map(({ usename }) => usename).toSorted()).toEqual(['postgres', roles['vault_daemon']]);
  });

  it('the Containerfile serves the file of its folder, and notices when nothing answers', async () => {
    const place = machine();
    await place.vault('init --file vault.db');
    const url = await urlOf(run(place, lastWords('CMD'), containerEnvironment));
    expect(await isHealthy(place, url)).toMatchObject({ exitCode: 0 });
    expect(await isHealthy(place, 'http://127.0.0.1:1')).toMatchObject({ exitCode: 8 });
  });

  it('the unit opens the vault with the credential of systemd', async () => {
    const place = machine({ 'systemd-creds': 'test "$*" = "cat vault.key" && cat vault.db.key' });
    await place.vault('init --file vault.db');
    const unit = read('vault.service');
    const line = /^ExecStart=(.*)$/m.exec(unit)?.[1] ?? '';
    const set = [...unit.matchAll(/^Environment=(\w+)=(.*)$/gm)].map(([, name, value]) => [name, value]);
    const words = [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, word]) => quoted ?? word ?? '');
    const url = await urlOf(run(place, words, Object.fromEntries(set)));
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
  });
});
