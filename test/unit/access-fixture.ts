import type { AccessRule } from '../../src/contract/access-rule.ts';
import type { ApplicationType, Permission, Transform } from '../../src/contract/permissions.ts';
import { type MemoryVault, openMemoryVault } from '../memory-vault.ts';
import { readVectors } from '../vectors/read-vectors.ts';

/** What a caller sees of a token's `data`: nothing, its masked form, or the plaintext. */
export type Sight = 'nothing' | 'mask' | 'reveal';

export const SIGHT_OF = { redact: 'nothing', mask: 'mask', reveal: 'reveal' } as const satisfies Record<
  Transform,
  Sight
>;

interface Origin {
  readonly name: string;
  readonly origin: string;
}

export interface ApplicationVector {
  readonly type: ApplicationType;
  readonly permissions?: readonly Permission[];
  readonly rules?: readonly Omit<AccessRule, 'description'>[];
  readonly can_create_expiring_applications?: boolean;
}

export interface TokenVector {
  readonly id?: string;
  readonly type?: string;
  readonly containers?: readonly string[];
  readonly maskless?: boolean;
}

interface Vectors {
  readonly governing: readonly (Origin & {
    readonly application: ApplicationVector;
    /** What the private application that made it may do by the time it reads. */
    readonly creator?: ApplicationVector;
    readonly token: Required<Pick<TokenVector, 'id' | 'containers'>>;
    readonly transform: Transform | null;
  })[];
  readonly writing: readonly (Origin & {
    readonly application: ApplicationVector;
    readonly operation: 'create' | 'update' | 'delete';
    readonly token: TokenVector;
    /** The containers that an update moves the token to. */
    readonly to?: readonly string[];
    readonly allowed: boolean;
  })[];
  readonly lists: {
    readonly tokens: readonly TokenVector[];
    readonly cases: readonly (Origin & {
      readonly application: ApplicationVector;
      readonly creator?: ApplicationVector;
      readonly query?: string;
      readonly shows: Readonly<Record<string, Sight>>;
    })[];
  };
  readonly replies: readonly (Origin & {
    readonly application: ApplicationVector;
    readonly operation: 'create' | 'update';
    readonly token: TokenVector;
    readonly shows: Sight;
  })[];
  readonly expiring: readonly (Origin & {
    readonly creator: ApplicationVector;
    readonly application: ApplicationVector;
    readonly status: number;
  })[];
}

export const VECTORS: Vectors = readVectors('access-rules');

/** A card whose plaintext and masked form are told apart at a glance. */
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

/** Everything on every token: makes and reads back what the applications under test are tried on. */
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

export interface AccessWorld extends MemoryVault {
  /** The key of an application that may do everything. */
  readonly everything: string;
  /** The key of a new application: made by management, or by a `creator` that afterwards may do only what is said. */
  apply(application: ApplicationVector, creator?: ApplicationVector): Promise<string>;
  /** Makes a token as the application that may do everything; its id. */
  token(token: TokenVector): Promise<string>;
}

export async function openAccessWorld(): Promise<AccessWorld> {
  const vault = await openMemoryVault();
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
