import type { ApplicationType } from '../../contract/permissions.ts';
import { TOKEN_TYPE_NAMES, TOKEN_TYPES, type TokenType } from '../../contract/token-types.ts';
import { Problem } from '../../core/problem.ts';

/** The stored number of each token type. A number is never reused. */
export const TOKEN_TYPE_CODES = Object.fromEntries(
  TOKEN_TYPE_NAMES.map((name) => [name, TOKEN_TYPES[name].code]),
) as Readonly<Record<TokenType, number>>;

export const APPLICATION_TYPE_CODES = {
  private: 1,
  public: 2,
  management: 3,
  expiring: 4,
} as const satisfies Record<ApplicationType, number>;

export const KEY_PURPOSE_CODES = { data: 1, index: 2 } as const satisfies Record<'data' | 'index', number>;

/** Returns the function from a stored number to its name. It throws `integrity_failure` for an unknown number. */
function reader<Name extends string>(codes: Readonly<Record<Name, number>>): (code: unknown) => Name {
  const names = new Map<unknown, Name>();
  for (const name in codes) names.set(codes[name], name);
  return (code) => {
    const name = names.get(code);
    if (name === undefined) throw new Problem('integrity_failure');
    return name;
  };
}

export const storedTokenType = reader<TokenType>(TOKEN_TYPE_CODES);
export const storedApplicationType = reader<ApplicationType>(APPLICATION_TYPE_CODES);
export const storedKeyPurpose = reader<'data' | 'index'>(KEY_PURPOSE_CODES);
