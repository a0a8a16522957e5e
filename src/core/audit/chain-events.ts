import type { Audit } from './audit.ts';
import type { AuditEvent } from './audit-event.ts';
import type { AuditHead, ChainRecorder } from './ports.ts';

/** Creates the recorder of the root's entries about other chains. */
export function createChainRecorder({ draft }: Pick<Audit, 'draft'>): ChainRecorder {
  const about = (action: 'openChain' | 'noteChains' | 'closeChain', entities: readonly string[]) =>
    draft({ action, status: 200, entities });
  return {
    opened: (chain) => about('openChain', [chain]),
    noted: (heads) => about('noteChains', heads.map(encodePlace)),
    closed: (head) => about('closeChain', [encodePlace(head)]),
  };
}

/** Returns the places that an entry of the root records. */
export function notedPlaces({ action, entities }: AuditEvent): readonly AuditHead[] {
  return action === 'noteChains' || action === 'closeChain' ? entities.map(decodePlace) : [];
}

/** Returns `<chain>:<sequence>:<link, base64url>`. */
export function encodePlace({ chain, sequence, link }: AuditHead): string {
  return [chain, sequence, Buffer.from(link).toString('base64url')].join(':');
}

export function decodePlace(text: string): AuditHead {
  const [chain = '', sequence, link = ''] = text.split(':');
  return { chain, sequence: Number(sequence), link: Buffer.from(link, 'base64url') };
}
