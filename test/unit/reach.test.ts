import { expect, it, onTestFinished, vi } from 'vitest';
import type { ReachPart } from '../../src/contract/explanation.ts';
import { createRandomApplications } from '../random-applications.ts';
import { openTestVault, type TestVault } from '../test-vault.ts';

const READ = 'token:read';

const condition = (place: string) => ({
  conditions: [{ attribute: 'container', operator: 'starts_with', value: place }],
});
const rule = (priority: number, place: object) => {
  return { description: '', priority, ...place, transform: 'mask', permissions: [READ] };
};

async function measured(world: TestVault, application_id: string): Promise<readonly ReachPart[]> {
  const { status, text } = await world.call(world.management, 'measureReach', { body: { application_id } });
  expect(status, text).toBe(200);
  return JSON.parse(text).reach;
}

/** Counts the same with one explanation per token. */
async function explained(world: TestVault, application_id: string, tokens: readonly { readonly id: string }[]) {
  const counts: Record<string, number> = {};
  for (const { id: token_id } of tokens) {
    const { text } = await world.call(world.management, 'explainAccess', { body: { application_id, token_id } });
    const read = JSON.parse(text).permissions.find(({ permission }: { permission: string }) => permission === READ);
    const governing = read.own.rules.find(({ outcome }: { outcome: string }) => outcome === 'governs');
    const name = `${governing?.priority} ${read.transform}`;
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

it('the measured reach matches explanations for 40 random applications, including expiring ones', {
  timeout: 60_000,
}, async () => {
  const world = await openTestVault('reach');
  const writer = await world.application({ name: 'w', type: 'private', permissions: ['token:create'] });
  const random = createRandomApplications('reach');
  const tokens = Array.from({ length: 60 }, (_, n) => random.token(`token-${n}`));
  for (const body of tokens) await world.call(writer, 'createToken', { body });
  let expiring = 0;
  for (let n = 0; n < 40; n++) {
    const parent = await world.call(world.management, 'createApplication', { body: random.private(`a${n}`) });
    expect(parent.status, parent.text).toBe(201);
    const expires_at = new Date(world.clock.now() + 3_600_000).toISOString();
    const body = random.expiring(`e${n}`, expires_at);
    const child = await world.call(String(parent.at('key')), 'createApplication', { body });
    if (child.status === 201) expiring += 1;
    // A creator may lose access after it has created an application.
    const { type: _, ...weaker } = random.private(`a${n}`);
    const id = String(parent.at('id'));
    const changed = await world.call(world.management, 'updateApplication', { id, body: weaker });
    expect(changed.status, changed.text).toBe(200);
    for (const made of child.status === 201 ? [parent, child] : [parent]) {
      const id = String(made.at('id'));
      const counted = (await measured(world, id)).filter((part) => part.tokens > 0);
      const found = Object.fromEntries(
        counted.map(({ priority, transform, tokens }) => [`${priority} ${transform}`, tokens]),
      );
      expect(found).toEqual(await explained(world, id, tokens));
    }
  }
  expect(expiring).toBeGreaterThan(5);
});

it('the measured reach counts at most 10,000 tokens', async () => {
  const totals = [10_000, 10_001];
  const findTokens = async () => ({ records: [], total: totals.shift() ?? 0 });
  const world = await openTestVault('capped', {
    storeOf: (file) => ({ ...file, findTokens }),
  });
  const body = { application: { type: 'private', rules: [rule(1, { container: '/pci/' })], permissions: [READ] } };
  const { text } = await world.call(world.management, 'measureReach', { body });
  expect(JSON.parse(text).reach).toMatchObject([
    { source: 'rule', priority: 1, tokens: 10_000, capped: false },
    { source: 'permission', transform: 'mask', tokens: 10_000, capped: true },
  ]);
});

it('the measured reach opens at most 10,001 tokens for each rule', async () => {
  const slices: number[] = [];
  const world = await openTestVault('opened', {
    storeOf: (file) => ({
      ...file,
      findTokens: async () => ({ records: undefined, total: undefined }),
      async scanTokens(filter, { after, limit }, now) {
        const { records } = await file.scanTokens(filter, { after: undefined, limit }, now);
        const slice = after === undefined ? 1 : (slices.pop() ?? 0) + 1;
        slices.push(slice);
        return { records: Array(limit).fill(records[0]), next: slice < 60 ? { id: '', created_at: 0 } : undefined };
      },
    }),
  });
  const writer = await world.application({ name: 'w', type: 'private', permissions: ['token:create'] });
  await world.call(writer, 'createToken', { body: { type: 'token', data: 1, containers: ['/pci/'] } });
  const body = { application: { type: 'expiring', rules: [rule(1, condition('/pc'))] } };
  const { text } = await world.call(world.management, 'measureReach', { body });
  expect(JSON.parse(text).reach).toMatchObject([
    { source: 'rule', tokens: 10_000, capped: true },
    { source: 'nothing', tokens: 0, capped: false },
  ]);
  // A slice has 200 tokens.
  expect(slices).toEqual([51, 60]);
});

it('gives up after 5 seconds of work', async () => {
  const world = await openTestVault('reach');
  const rules = ['/pc', '/pb', '/pa'].map((place, n) => rule(n + 1, condition(place)));
  const body = { application: { type: 'expiring', rules } };
  expect((await world.call(world.management, 'measureReach', { body })).status).toBe(200);
  let now = 0;
  const clock = vi.spyOn(process, 'uptime').mockImplementation(() => (now += 3));
  onTestFinished(() => clock.mockRestore());
  const { status, text } = await world.call(world.management, 'measureReach', { body });
  expect([status, JSON.parse(text).type]).toEqual([400, expect.stringContaining('too_expensive')]);
});
