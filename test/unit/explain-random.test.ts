import { beforeAll, describe, expect, it } from 'vitest';
import { createRandomApplications, PLAIN, TRANSFORMS } from '../random-applications.ts';
import { atEndOfSuite } from '../temporary-folder.ts';
import { openTestVault, type TestVault } from '../test-vault.ts';

const random = createRandomApplications('explanations');

interface Reader {
  readonly id: string;
  readonly key: string;
}

describe('an explanation of random access', () => {
  const atEnd = atEndOfSuite();
  let world: TestVault;
  const tokens: string[] = [];
  const readers: Reader[] = [];

  async function create(key: string, body: object): Promise<Reader> {
    const made = await world.call(key, 'createApplication', { body });
    expect(made.status, made.text).toBe(201);
    return { id: String(made.at('id')), key: String(made.at('key')) };
  }

  beforeAll(async () => {
    world = await openTestVault('explanations', { atEnd });
    const writer = await world.application({
      name: 'writer',
      type: 'private',
      rules: [{ description: '', priority: 1, container: '/', transform: 'reveal', permissions: ['token:create'] }],
    });
    for (let n = 0; n < 240; n++) {
      const body = random.token(`token-${n}`);
      expect((await world.call(writer, 'createToken', { body })).status).toBe(201);
      tokens.push(body.id);
    }
    for (let n = 0; n < 30; n++) {
      const parent = await create(world.management, random.private(`a${n}`));
      readers.push(parent);
      const body = random.expiring(`e${n}`, inAnHour());
      const child = await world.call(parent.key, 'createApplication', { body });
      if (child.status === 201) readers.push({ id: String(child.at('id')), key: String(child.at('key')) });
    }
    for (; readers.length < 40; ) {
      readers.push(await create(world.management, { name: 'plain', type: 'private', permissions: ['token:read'] }));
    }
  }, 60_000);

  const inAnHour = () => new Date(world.clock.now() + 3_600_000).toISOString();

  /** Returns what a read of the token shows; undefined for a 403. */
  async function seen(reader: Reader, id: string): Promise<string | undefined> {
    const read = await world.call(reader.key, 'getToken', { id });
    if (read.status !== 200) return undefined;
    const data = read.at('data');
    return data === undefined ? 'redact' : data === PLAIN ? 'reveal' : 'mask';
  }

  it('matches the reads of 40 random applications and 240 tokens', { timeout: 60_000 }, async () => {
    expect(readers.length).toBeGreaterThanOrEqual(40);
    let different = 0;
    let shifted = 0;
    for (const reader of readers) {
      for (const id of tokens) {
        const body = { application_id: reader.id, token_id: id };
        const explained = await world.call(world.management, 'explainAccess', { body });
        const [{ transform }] = JSON.parse(explained.text).permissions.filter(
          ({ permission }: { permission: string }) => permission === 'token:read',
        );
        const read = await seen(reader, id);
        if (transform !== read) different += 1;
        if ((TRANSFORMS[TRANSFORMS.indexOf(transform) + 1] ?? transform) !== read) shifted += 1;
      }
    }
    expect(different).toBe(0);
    // Control: explanations that are off by one transform are found.
    expect(shifted).toBeGreaterThan(100);
  });
});
