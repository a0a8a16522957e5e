import { writeFileSync } from 'node:fs';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { makePlace, type Place } from './cli-fixture.ts';

const SEED = `
apps:
  web: { type: public, permissions: [token:create] }
  reader: { type: private, permissions: [token:read] }
tokens:
  visa: { type: card, data: { number: "4242424242424242" }, metadata: { by: "\${apps.web.id}" } }
  people: { generate: person, count: 2 }
`;

let place: Place;
beforeEach(() => {
  place = makePlace(onTestFinished);
  writeFileSync(place.inside('seed.yaml'), SEED);
});

async function fresh(name: string): Promise<Readonly<Record<string, string>>> {
  return { VAULT_FILE: `${name}.db`, VAULT_API_KEY: await place.init(name) };
}

describe('vault seed apply --seed', () => {
  const words = ['seed', 'apply', 'seed.yaml', '--seed', '7', '--out', '-'];

  it('prints the same bytes for two new vaults and for every run, until a key is regenerated', async () => {
    const [a, b] = [await fresh('a'), await fresh('b')];
    const first = await place.vault(words, a);
    const warning = '--seed makes predictable API keys: keep no secrets in this vault';
    const stderr = `vault: ${warning}\nvault: 5 created, 0 changed, 0 unchanged\n`;
    expect(first).toMatchObject({ exitCode: 0, stderr });
    expect((await place.vault(words, b)).stdout).toBe(first.stdout);
    expect((await place.vault(words, a)).stdout).toBe(first.stdout);
    const { apps } = JSON.parse(first.stdout);
    const made = await place.vault('tokens create --type token --text x -q', { ...a, VAULT_API_KEY: apps.web.key });
    expect(made.exitCode).toBe(0);
    await place.vault(['apps', 'regenerate', apps.web.id, '--yes'], a);
    expect(JSON.parse((await place.vault(words, a)).stdout).apps.web).toEqual({ id: apps.web.id });
    expect(await place.vault('doctor --file a.db')).toMatchObject({ exitCode: 0 });
    const other = await place.vault(words.with(4, '8'), await fresh('c'));
    expect(JSON.parse(other.stdout).apps.web.key).not.toBe(apps.web.key);
  });

  it('over HTTP fails only for applications whose keys it cannot set', async () => {
    const { VAULT_API_KEY = '' } = await fresh('a');
    const { url } = await place.serve(['--file', 'a.db']);
    const env = { VAULT_URL: url, VAULT_API_KEY };
    expect(await place.vault(words, env)).toMatchObject({
      exitCode: 2,
      stdout: '',
      stderr: expect.stringContaining('--seed: a daemon gives new applications random ids and keys (web, reader)'),
    });
    expect((await place.vault('apps list --field pagination.total_items', env)).stdout).toBe('1\n');
    expect((await place.vault('seed apply seed.yaml --field created', env)).stdout).toBe('5\n');
    // --seed also determines the test data, which the second apply changes.
    const again = await place.vault('seed apply seed.yaml --seed 7', env);
    expect(again.stdout).toBe('{"seed":"default","created":0,"changed":2,"unchanged":3}\n');
  });
});
