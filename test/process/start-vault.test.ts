import { writeFileSync } from 'node:fs';
import http from 'node:http';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type StartOptions, startVault, type TestVault } from '../../src/testing/start-vault.ts';
import { makePlace } from './cli-fixture.ts';

const place = makePlace();
beforeAll(() => {
  writeFileSync(
    place.inside('apps.yaml'),
    'seed: shop\napps: { web: { type: public, permissions: [token:create] } }\n',
  );
  writeFileSync(
    place.inside('tokens.yaml'),
    'seed: shop\ntokens: { pin: { type: token, data: "1234" }, cards: { generate: card, count: 2 } }\n',
  );
  writeFileSync(place.inside('wrong.yaml'), 'tokens:\n  one: { type: tokn, data: 1 }\n  two: { type: token }\n');
});

const seedFile = () => [place.inside('apps.yaml'), place.inside('tokens.yaml')];

describe.each(['in-process', 'child'] as const)('startVault, %s', (mode) => {
  it('applies seed files, returns their ids, and resets to them', { timeout: 60_000 }, async () => {
    await using vault = await startVault({ mode, seedFile: seedFile() });
    const key = /^key_\w+$/;
    expect(vault.ids).toEqual({
      apps: { web: { id: expect.any(String), key: expect.stringMatching(key) } },
      tokens: { pin: 'pin', cards: ['cards-1', 'cards-2'] },
    });
    expect(await vault.client.getToken({ params: { id: 'pin' } })).toMatchObject({ data: '1234' });
    await vault.client.deleteToken({ params: { id: 'cards-2' } });
    await vault.reset();
    expect(await vault.client.getToken({ params: { id: 'cards-2' } })).toMatchObject({ type: 'card' });
    const { name } = await vault.management.getApplication({ params: { id: vault.ids.apps['web']?.id ?? '' } });
    expect(name).toBe('web');
  });

  it('reports all errors of a seed file', { timeout: 60_000 }, async () => {
    const wrong = place.inside('wrong.yaml');
    await expect(startVault({ mode, seedFile: wrong })).rejects.toThrow(
      expect.objectContaining({
        message: expect.stringMatching(
          /the seed has 2 errors\n.*wrong\.yaml:2: tokens\.one\.type: .*\n.*wrong\.yaml:3: tokens\.two\.data: is required/,
        ),
      }),
    );
    await expect(startVault({ mode, seedFile: 'none.yaml' })).rejects.toThrow('none.yaml cannot be read (ENOENT)');
  });
});

describe('startVault', () => {
  it('is the same for the same seed, in both modes', { timeout: 60_000 }, async () => {
    const facts = async (options: StartOptions) => {
      await using vault = await startVault(options);
      return { keys: vault.keys, ids: vault.ids };
    };
    const first = await facts({ mode: 'child', seed: 7, seedFile: seedFile() });
    expect(await facts({ mode: 'in-process', seed: 7, seedFile: seedFile() })).toEqual(first);
    for (const mode of ['in-process', 'child'] as const) {
      expect(await facts({ mode, seed: 7 })).toEqual({ keys: first.keys, ids: { apps: {}, tokens: {} } });
    }
    expect((await facts({ seed: 8 })).keys).not.toEqual(first.keys);
  });

  it.each([
    [{ seedfile: 'x' }, 'startVault has no option seedfile; did you mean seedFile?'],
    [{ port: 1 }, 'startVault has no option port; known options: mode, headerPrefix, seedFile, seed, keepAlive'],
    [{ mode: 'thread' }, "startVault: mode must be 'in-process' or 'child'"],
    [{ headerPrefix: 'a b' }, 'startVault: headerPrefix must be letters, digits and dashes, beginning with a letter'],
    [{ seedFile: [] }, 'startVault: seedFile must be a path, or a list of paths'],
    [{ seedFile: 7 }, 'startVault: seedFile must be a path, or a list of paths'],
    [{ seed: -1 }, 'startVault: seed must be a whole number from 0'],
    [{ seed: '7' }, 'startVault: seed must be a whole number from 0'],
    [{ keepAlive: 1 }, 'startVault: keepAlive must be true or false'],
    ['child', 'startVault expects an object of options'],
  ])('rejects %j', async (options, message) => {
    await expect(startVault(options as StartOptions)).rejects.toThrow(new TypeError(message));
  });

  it('treats an undefined option as absent', async () => {
    await using vault = await startVault({ mode: undefined, seedFile: undefined, seed: undefined });
    expect(vault.ids).toEqual({ apps: {}, tokens: {} });
  });

  it('sends nothing to a proxy of the environment', async () => {
    const { globalAgent } = http;
    onTestFinished(() => void Object.assign(http, { globalAgent }));
    // As NODE_USE_ENV_PROXY=1 does.
    http.globalAgent = new http.Agent({ proxyEnv: { HTTP_PROXY: 'http://127.0.0.1:9' } });
    await using vault = await startVault();
    expect((await vault.client.listTokens()).data).toEqual([]);
  });
});

describe('clock.advance', () => {
  let vault: TestVault;
  beforeAll(async () => {
    vault = await startVault();
  });
  afterAll(() => vault.stop());

  it.each([
    [90_000, 90],
    ['90s', 90],
    ['90', 90],
    ['1.5h', 5_400],
    ['25h', 90_000],
    ['30d', 2_592_000],
  ])('by %j moves the clock by %i seconds, as the command does', async (by, seconds) => {
    await vault.clock.set(Date.UTC(2040, 0, 1));
    const moved = (await vault.clock.advance(by)).getTime() - Date.parse('2040-01-01T00:00:00Z');
    expect(Math.floor(moved / 1000)).toBe(seconds);
  });

  it.each([
    ['-1h', 'the clock only moves forward'],
    ['25 h', 'the duration must be a duration such as 90s, 15m, 25h or 30d'],
    ['', 'the duration must be'],
    [-1, 'advance_ms'],
  ])('by %j is an error', async (by, message) => {
    await expect(vault.clock.advance(by)).rejects.toThrow(message);
  });
});
