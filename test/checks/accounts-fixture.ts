import { inParallel } from './perform.ts';
import { serveVault } from './served-vault.ts';

export type Accounts = Awaited<ReturnType<typeof prepareAccounts>> & { readonly port: number };

export const SIZES = {
  least: { small: 0, large: 0, children: 1 },
  quick: { small: 3_000, large: 100, children: 100 },
  full: { small: 100_000, large: 100, children: 256 },
} as const;

/** A hundred large tokens make a page just below the response limit of 16 MiB. */
const LARGE_BYTES = 150_000;
const PATCHES = 4;
const PATCH_BYTES = 1_000_000;
const CONTAINERS = 90;
const BATCH = 1_000;

/** Creates a vault with small tokens in 90 containers, large ones for pages of 15 MB, and the attackers. */
export async function prepareAccounts({ small, large, children }: (typeof SIZES)[keyof typeof SIZES]) {
  const vault = await serveVault();
  const { direct, everything, management } = vault;
  const made = async (key: string, body: object, operation: 'createToken' | 'createApplication') => {
    const reply = await direct(key, operation, { body });
    if (reply.status !== 201) throw new Error(`not prepared: ${reply.text}`);
    return reply.body;
  };
  const token = (body: object) => made(everything, { type: 'token', ...body }, 'createToken');
  const application = async (body: object, key = management) =>
    String((await made(key, body, 'createApplication'))['key']);

  await inParallel(small / BATCH, 2, async (batch) => {
    const body = Array.from({ length: BATCH }, (_, at) => {
      const containers = [`/q/c${(batch * BATCH + at) % CONTAINERS}/`];
      return { type: 'token', data: batch * BATCH + at, containers };
    });
    const { status, text } = await direct(everything, 'tokenize', { body });
    if (status !== 201) throw new Error(`not prepared: ${text.slice(0, 300)}`);
  });
  const data = 'x'.repeat(LARGE_BYTES);
  await inParallel(large, 4, async () => void (await token({ data, containers: ['/l/'] })));
  const { id } = await token({ data: {}, containers: ['/l/'] });
  for (let patch = 0; patch < PATCHES; patch += 1) {
    const grow = { data: { [`part${patch}`]: 'x'.repeat(PATCH_BYTES) } };
    const { status, text } = await direct(everything, 'updateToken', { id: String(id), body: grow });
    if (status !== 200) throw new Error(`not prepared: ${text.slice(0, 300)}`);
  }

  const rule = { description: '', priority: 1, transform: 'reveal' };
  const permissions = ['token:read', 'token:search'];
  const attacker = await application({
    name: 'attacker',
    type: 'private',
    rules: [{ ...rule, container: '/', permissions }],
    can_create_expiring_applications: true,
  });
  const expiring = (name: string, container: string) => ({
    name,
    type: 'expiring',
    expires_at: new Date(Date.now() + 3_600_000).toISOString(),
    rules: [
      {
        ...rule,
        permissions: ['token:read'],
        conditions: [{ attribute: 'container', operator: 'starts_with', value: container }],
      },
    ],
  });
  const keys: string[] = [];
  await inParallel(children, 8, async () => void keys.push(await application(expiring('child', '/l/'), attacker)));
  return {
    vault,
    creator: await application({ name: 'creator', type: 'public', permissions: ['token:create'] }),
    attacker,
    /** Reads by a rule that matches part of a container segment. */
    scanner: await application(expiring('scanner', '/q/c')),
    children: keys,
    /** The id of a token that patches let grow to almost 4 MiB. */
    grown: String(id),
    /** The id of a small token that the children read, too. */
    tiny: String((await token({ data: 1, containers: ['/l/'] }))['id']),
    small,
  };
}
