import type { Transform } from '../../src/contract/permissions.ts';
import type { AtEnd } from '../temporary-folder.ts';
import { openTestVault, type TestVault } from '../test-vault.ts';
import type { ApplicationVector, Sight, TokenVector } from '../vectors/access-rules.ts';

export const SIGHT_OF = { redact: 'nothing', mask: 'mask', reveal: 'reveal' } as const satisfies Record<
  Transform,
  Sight
>;

/** Returns the body of a token whose plaintext and masked form differ. */
export function tokenBody({ id, type = 'token', containers, maskless }: TokenVector): object {
  const data = type === 'card_number' ? '4242424242424242' : 'plain';
  return { type, data, ...(id && { id }), ...(containers && { containers }), ...(!maskless && { mask: 'masked' }) };
}

export function sightOf(data: unknown): Sight {
  const sight = new Map<unknown, Sight>([
    [undefined, 'nothing'],
    ['masked', 'mask'],
    ['plain', 'reveal'],
  ]).get(data);
  if (!sight) throw new Error(`neither the plaintext nor its mask: ${JSON.stringify(data)}`);
  return sight;
}

export function definition({ rules = [], ...application }: ApplicationVector): object {
  return { name: 'app', ...application, rules: rules.map((rule) => ({ description: '', ...rule })) };
}

/** Grants everything on every token. It creates the tokens and applications that the tests use. */
const EVERYTHING: ApplicationVector = {
  type: 'private',
  rules: [
    {
      priority: 1,
      container: '/',
      transform: 'reveal',
      permissions: ['token:create', 'token:read', 'token:update', 'token:delete'],
    },
  ],
  can_create_expiring_applications: true,
};

export interface AccessWorld extends TestVault {
  /** The key of an application that may do everything with tokens. */
  readonly everything: string;
  /**
   * Creates an application and resolves to its key. A `creator` makes it first and is reduced to its own definition
   * afterwards.
   */
  apply(application: ApplicationVector, creator?: ApplicationVector): Promise<string>;
  /** Creates a token as the application that may do everything; resolves to its id. */
  token(token: TokenVector): Promise<string>;
}

export async function openAccessWorld(atEnd?: AtEnd): Promise<AccessWorld> {
  const vault = await openTestVault('seed', { atEnd });
  const everything = await vault.application(definition(EVERYTHING));

  async function apply(application: ApplicationVector, creator?: ApplicationVector): Promise<string> {
    if (!creator) return vault.application(definition(application));
    const made = await vault.call(vault.management, 'createApplication', { body: definition(EVERYTHING) });
    const child = await vault.call(String(made.at('key')), 'createApplication', { body: definition(application) });
    if (child.status !== 201) throw new Error(child.text);
    const { type: _, ...body } = definition(creator) as { readonly type: string };
    const parts = { id: String(made.at('id')), body };
    const shrunk = await vault.call(vault.management, 'updateApplication', parts);
    if (shrunk.status !== 200) throw new Error(shrunk.text);
    return String(child.at('key'));
  }

  async function token(wanted: TokenVector): Promise<string> {
    const made = await vault.call(everything, 'createToken', { body: tokenBody(wanted) });
    if (made.status !== 201) throw new Error(made.text);
    return String(made.at('id'));
  }

  return { ...vault, everything, apply, token };
}
