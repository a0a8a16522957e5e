import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from 'pg';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { freePort } from '../free-port.ts';
import { createDatabase } from '../postgres/create-database.ts';
import { type Ended, endOf, makePlace, type Place, RUN_VAULT } from '../process/cli-fixture.ts';
import { cleanEnvironment } from '../scripts/run-script.ts';
import { blocksOf, pageOf, writePrograms } from './page-fixture.ts';

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

interface Container {
  readonly args: readonly string[];
  readonly env: readonly { readonly name: string; readonly value?: string; readonly valueFrom?: object }[];
  readonly [member: string]: unknown;
}
interface Pod {
  readonly containers: readonly Container[];
  readonly initContainers?: readonly Container[];
  readonly volumes: readonly { readonly secret?: { readonly defaultMode?: number } }[];
}
interface Resource {
  readonly kind: string;
  readonly spec: { readonly template?: { readonly spec: Pod } };
}
// kubectl reads 0440 as an octal number, as YAML 1.1 does.
const RESOURCES: readonly Resource[] = parseAllDocuments(read('kubernetes.yaml'), { version: '1.1' }).map((one) =>
  one.toJS(),
);
const podOf = (kind: string): Pod =>
  RESOURCES.find((one) => one.kind === kind)?.spec.template?.spec ?? { containers: [], volumes: [] };

/** A folder for the container's /var/lib/vault and its secrets, with programs on its PATH. */
function machine(programs: Readonly<Record<string, string>> = {}): Place {
  const place = makePlace(onTestFinished);
  writePrograms(place, 'bin', { vault: RUN_VAULT, tini: 'shift && exec "$@"', ...programs });
  return place;
}

/** Runs a command line in the folder of the place, as a container or a unit does. */
function run(place: Place, [program = '', ...words]: readonly string[], env: Readonly<Record<string, string>>) {
  const PATH = `${place.inside('bin')}${path.delimiter}${process.env['PATH'] ?? ''}`;
  const text = (value: string) =>
    value.replaceAll(/\/var\/lib\/vault|\/run\/secrets\/\w+|\/tmp(?=\/management)/g, place.cwd);
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
    const [, port] = /listening on http:\/\/\S*:(\d+)(?: \(--host \S+\))?\n/.exec(text) ?? [];
    if (port !== undefined) return `http://127.0.0.1:${port}`;
  }
  throw new Error(`no daemon: ${text}`);
}

/** Returns the command line of a unit, the last one if there are several, and its variables. */
function startOf(unit: string): readonly [words: readonly string[], env: Readonly<Record<string, string>>] {
  const line = [...unit.matchAll(/^ExecStart=(.+)$/gm)].at(-1)?.[1] ?? '';
  const set = [...unit.matchAll(/^Environment=(\w+)=(.*)$/gm)].map(([, name, value]) => [name, value]);
  const words = [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, word]) => quoted ?? word ?? '');
  return [words, Object.fromEntries(set)];
}

/** Creates a database of the owner in deploy/, and the role of the daemons. The roles of a server outlive the test. */
async function database() {
  const created = await createDatabase();
  const admin = new Client({ connectionString: created });
  await admin.connect();
  onTestFinished(() => admin.end());
  const name = new URL(created).pathname.slice(1);
  const roles = Object.fromEntries(['vault_owner', 'vault_daemon'].map((role) => [role, `${role}_of_${name}`]));
  for (const create of [
    'CREATE ROLE vault_owner LOGIN',
    /^CREATE ROLE \w+ LOGIN/m.exec(read('roles.sql'))?.[0] ?? '',
  ]) {
    await admin.query(create.replace(/vault_\w+/, (role) => roles[role] ?? ''));
  }
  await admin.query(`ALTER DATABASE ${name} OWNER TO ${roles['vault_owner']}`);
  /** Returns the URL of the database with the user of another URL. */
  const urlAs = (store: string) => {
    const url = new URL(created);
    url.username = roles[/\/\/(\w+)@/.exec(store)?.[1] ?? ''] ?? 'nobody';
    return url;
  };
  return { admin, roles, urlAs };
}

/** Returns the variables of a container of kubernetes.yaml, as the kubelet sets them in the namespace `shop`. */
function variablesOf({ env }: Container, change: (store: string) => string = String): Readonly<Record<string, string>> {
  const set = Object.fromEntries(
    env.map(({ name, value = 'shop' }) => [name, value.replaceAll('$(NAMESPACE)', 'shop')]),
  );
  const { VAULT_STORE: store } = set;
  const own = { ...containerEnvironment, ...set, ...('VAULT_METRICS' in set && { VAULT_METRICS: '127.0.0.1:0' }) };
  return store === undefined ? own : { ...own, VAULT_STORE: change(store) };
}

async function isHealthy(place: Place, url: string): Promise<Ended> {
  const words = lastWords('HEALTHCHECK').map((word) => word.replace('http://127.0.0.1:8484', url));
  return ended(run(place, words, {}));
}

/** Resolves to the status of a request with these headers. `fetch` does not send another `Host`. */
async function statusOf(url: string, headers: Readonly<Record<string, string>>): Promise<number | undefined> {
  const [reply] = (await once(get(url, { headers }), 'response')) as [IncomingMessage];
  reply.resume();
  return reply.statusCode;
}

describe.runIf(process.platform !== 'win32')('deploy/', { timeout: 120_000 }, () => {
  it('compose.yaml makes a vault once, and its daemons serve it', async () => {
    const place = machine();
    const { admin, roles, urlAs } = await database();
    const environmentOf = (title: string) => {
      const { VAULT_STORE = '', ...own } = service(title).environment;
      const store = `${urlAs(VAULT_STORE)}?sslmode=disable`;
      return { ...containerEnvironment, ...own, VAULT_STORE: store, PGPASSWORD: 'vault' };
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

  it('kubernetes.yaml makes a file once, and its daemon answers the probes and the names of its service', async () => {
    const place = machine();
    writeFileSync(place.inside('vault.key'), randomBytes(32), { mode: 0o600 });
    const {
      initContainers: [init] = [],
      containers: [daemon],
    } = podOf('StatefulSet');
    if (init === undefined || daemon === undefined) throw new Error('no containers');
    for (const made of ['first', 'again', 'without the key']) {
      expect(
        await ended(run(place, [...lastWords('ENTRYPOINT'), ...init.args], variablesOf(init))),
        made,
      ).toMatchObject({
        exitCode: 0,
      });
      if (made === 'again') renameSync(place.inside('management.key'), place.inside('taken.key'));
    }
    const url = await urlOf(run(place, [...lastWords('ENTRYPOINT'), ...daemon.args], variablesOf(daemon)));
    const key = readFileSync(place.inside('taken.key'), 'utf8').trim();
    const { port } = new URL(url);
    for (const [host, path] of [
      [`vault:${port}`, '/livez'],
      [`vault.shop:${port}`, '/readyz'],
      [`vault.shop.svc:${port}`, '/tenants/self'],
    ] as const) {
      expect(await statusOf(url + path, { host, 'svc-api-key': key })).toBe(200);
    }
    expect(await statusOf(`${url}/tenants/self`, { host: `vault-pg:${port}`, 'svc-api-key': key })).toBe(421);
    const backup = /-- (vault backup -) >/.exec(read('kubernetes.yaml'))?.[1]?.split(' ') ?? [];
    expect(await ended(run(place, backup, { TMPDIR: '/tmp', ...variablesOf(daemon) }))).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(/^SQLite format 3/),
    });
  });

  it('kubernetes.yaml makes the tables as their owner, and its daemons serve them', async () => {
    const place = machine();
    writeFileSync(place.inside('vault.key'), randomBytes(32), { mode: 0o600 });
    writeFileSync(place.inside('pgpass'), '*:*:*:*:vault\n', { mode: 0o600 });
    const { admin, roles, urlAs } = await database();
    const [[init], [daemon]] = [podOf('Job').containers, podOf('Deployment').containers];
    if (init === undefined || daemon === undefined) throw new Error('no containers');
    // The server of the tests has no TLS.
    const change = (store: string) =>
      `${urlAs(store)}?${store.split('?')[1]?.replace(/sslrootcert=.*/, 'sslmode=disable')}`;
    const words = init.args.map((word) => word.replace('vault_daemon', roles['vault_daemon'] ?? ''));
    for (const made of ['first', 'again']) {
      const env = variablesOf(init, change);
      expect(await ended(run(place, [...lastWords('ENTRYPOINT'), ...words], env)), made).toMatchObject({ exitCode: 0 });
    }
    const env = variablesOf(daemon, change);
    const urls = await Promise.all(
      [0, 1].map(() => urlOf(run(place, [...lastWords('ENTRYPOINT'), ...daemon.args], env))),
    );
    const issue = /-- (vault tenant issue-key .*)$/m.exec(read('kubernetes.yaml'))?.[1]?.split(' ') ?? [];
    const key = (await ended(run(place, issue, env))).stdout.trim();
    for (const url of urls) expect(await statusOf(`${url}/tenants/self`, { 'svc-api-key': key })).toBe(200);
    const { rows } = await admin.query(
      'SELECT DISTINCT usename FROM pg_stat_activity WHERE datname = current_database()',
    );
    expect(rows.map(({ usename }) => usename).toSorted()).toEqual(['postgres', roles['vault_daemon']]);
  });

  it('the pods of kubernetes.yaml are hardened', () => {
    const pods = RESOURCES.flatMap(({ spec: { template } }) => (template === undefined ? [] : [template.spec]));
    expect(pods).toHaveLength(3);
    for (const pod of pods) {
      expect(pod).toMatchObject({
        enableServiceLinks: false,
        automountServiceAccountToken: false,
        securityContext: { runAsNonRoot: true, runAsUser: 1000, fsGroup: 1000 },
      });
      for (const { secret } of pod.volumes) expect(secret?.defaultMode ?? 0o440).toBe(0o440);
      for (const container of [...(pod.initContainers ?? []), ...pod.containers]) {
        expect(container).toMatchObject({
          securityContext: {
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            capabilities: { drop: ['ALL'] },
          },
        });
        // A command would replace the process that reaps orphans, and a variable would show a secret to other
        // processes.
        expect(container).not.toHaveProperty('command');
        expect(JSON.stringify(container.env)).not.toContain('secretKeyRef');
      }
    }
    for (const kind of ['StatefulSet', 'Deployment']) {
      expect(podOf(kind).containers[0]).toMatchObject({
        livenessProbe: { httpGet: { path: '/livez', port: 'http' } },
        readinessProbe: { httpGet: { path: '/readyz', port: 'http' } },
      });
    }
  });

  it('the Containerfile serves the file of its folder, and notices when nothing answers', async () => {
    const place = machine();
    await place.vault('init --file vault.db');
    const url = await urlOf(run(place, [...lastWords('ENTRYPOINT'), ...lastWords('CMD')], containerEnvironment));
    expect(await isHealthy(place, url)).toMatchObject({ exitCode: 0 });
    expect(await isHealthy(place, 'http://127.0.0.1:1')).toMatchObject({ exitCode: 8 });
  });

  it('the unit opens the vault with the credential of systemd', async () => {
    const place = machine({ 'systemd-creds': 'test "$*" = "cat vault.key" && cat vault.db.key' });
    await place.vault('init --file vault.db');
    const url = await urlOf(run(place, ...startOf(read('vault.service'))));
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
  });

  it('docs/postgres.md makes a vault that two daemons and the unit with postgres.conf serve', async () => {
    const place = machine({ 'systemd-creds': 'test "$*" = "cat vault.key" && cat vault.key' });
    writeFileSync(place.inside('pgpass'), '*:*:*:*:vault\n', { mode: 0o600 });
    const { roles, urlAs } = await database();
    const [port, other] = [await freePort(), await freePort()];
    const local = (text: string) =>
      text
        .replaceAll(/postgres:\/\/\w+@db.test\/vault/g, (store) => `${urlAs(store)}?sslmode=disable`)
        .replaceAll('--grant vault_daemon', `--grant ${roles['vault_daemon']}`)
        .replaceAll('/etc/vault', place.cwd)
        .replaceAll('8484', String(port))
        .replaceAll('8485', String(other));
    const [, make = '', check = ''] = blocksOf('postgres.md', 'From zero to two daemons', 'sh').map(local);
    const [, second = ''] = /`(--port 8485)`/.exec(pageOf('postgres.md')) ?? [];
    const script = `trap 'kill $(jobs -p); wait' EXIT
      ${make.replace('vault serve', `vault serve --port ${port} &\nvault serve ${local(second)} &`)}
      for url in http://127.0.0.1:${port} http://127.0.0.1:${other}; do vault wait --url $url; done
      ${check}`;
    const env = { PGPASSFILE: place.inside('pgpass') };
    expect(await ended(run(place, ['bash', '-euc', script], env))).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(/\nprobe\n$/),
    });

    const [file = ''] = blocksOf('postgres.md', 'With systemd', 'ini').map(local);
    const variables = [...file.matchAll(/^(\w+)=(.*)$/gm)].map(([, name = '', value = '']) => [name, value]);
    const [words, set] = startOf(`${read('vault.service')}${read('postgres.conf')}`);
    const url = await urlOf(run(place, words, { ...set, ...Object.fromEntries(variables) }));
    const key = readFileSync(place.inside('management.key'), 'utf8').trim();
    expect(await statusOf(`${url}/tenants/self`, { 'svc-api-key': key })).toBe(200);
  });

  it('docs/postgres.md installs the unit with postgres.conf', async () => {
    const place = machine({ npm: 'echo "$PWD"', systemctl: 'echo "$*"', 'systemd-creds': 'cp "$3" "$4"' });
    mkdirSync(place.inside('token-vault'));
    symlinkSync(fileURLToPath(new URL('../../deploy', import.meta.url)), place.inside('token-vault/deploy'));
    mkdirSync(place.inside('etc/systemd/system'), { recursive: true });
    mkdirSync(place.inside('etc/vault'));
    writeFileSync(place.inside('etc/vault/vault.key'), 'key');
    const [install = ''] = blocksOf('postgres.md', 'With systemd', 'sh');
    const script = install.replaceAll('/etc/', `${place.cwd}/etc/`);
    expect(await ended(run(place, ['bash', '-euc', script], {}))).toMatchObject({
      exitCode: 0,
      stdout: 'enable --now vault.socket vault.service\n',
    });
    const installed = place.inside('etc/systemd/system');
    expect(readdirSync(installed)).toEqual(['vault.service', 'vault.service.d', 'vault.socket']);
    expect(readFileSync(`${installed}/vault.service.d/postgres.conf`, 'utf8')).toContain('IPAddressAllow=203.0.113.7');
    expect(readFileSync(place.inside('etc/vault/key.cred'), 'utf8')).toBe('key');
  });
});
