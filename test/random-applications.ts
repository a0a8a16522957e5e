import { seededRandom } from './fixed-world.ts';

const CONTAINERS = ['/pci/eu/', '/pci/test/', '/bank/high/', '/pcix/', '/general/low/'];
const PLACES = ['/', '/pci/', '/pci/test/', '/bank/', '/pcix/', '/none/'];
const TRANSFORMS = ['redact', 'mask', 'reveal'] as const;
const READS = ['token:read', 'token:use'] as const;
/** The data and mask of every random token; they show which transform a read used. */
export const PLAIN = 'plain';
const MASKED = 'masked';

type Place =
  | { readonly container: string }
  | {
      readonly conditions: readonly {
        readonly attribute: 'container' | 'id';
        readonly operator: 'starts_with';
        readonly value: string;
      }[];
    };

/** Creates random tokens and applications that repeat for the same seed. */
export function createRandomApplications(seed: string) {
  const random = seededRandom(seed);
  const below = (n: number) => (random.bytes(4).reduce((sum, byte) => sum * 256 + byte, 0) >>> 0) % n;
  const one = <T>(all: readonly T[]): T => all[below(all.length)] as T;

  const rulesOf = <P extends Place, Permission extends string>(place: () => P, permissions: readonly Permission[]) =>
    Array.from({ length: 1 + below(4) }, (_, at) => ({
      description: one(['', 'charge cards']),
      priority: at + 1,
      transform: one(TRANSFORMS),
      permissions: permissions.filter((_each, index) => index === 0 || below(2) === 0),
      ...place(),
    }));

  return {
    token: (id: string) => {
      const containers = below(5) === 0 ? [one(CONTAINERS), one(CONTAINERS)] : [one(CONTAINERS)];
      return { id, type: 'token' as const, data: PLAIN, mask: MASKED, containers };
    },
    private: (name: string) => ({
      name,
      type: 'private' as const,
      rules: rulesOf(() => ({ container: one(PLACES) }), READS),
      ...(below(3) === 0 && { permissions: ['token:read' as const] }),
      can_create_expiring_applications: true,
    }),
    expiring: (name: string, expires_at: string) => ({
      name,
      type: 'expiring' as const,
      rules: rulesOf(
        () => ({
          conditions: [
            one([
              { attribute: 'container' as const, operator: 'starts_with' as const, value: one(PLACES) },
              { attribute: 'id' as const, operator: 'starts_with' as const, value: 'token-1' },
            ]),
          ],
        }),
        ['token:read' as const],
      ),
      expires_at,
    }),
  };
}
