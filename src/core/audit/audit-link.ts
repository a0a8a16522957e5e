import type { AuditHead } from './ports.ts';

/** The length of a link to the previous entry, in bytes. */
export const LINK_BYTES = 16;

/** The link before the first entry. */
export const NO_LINK: Uint8Array = new Uint8Array(LINK_BYTES);

/** The place before the first row. */
export const START: AuditHead = { sequence: 0, link: NO_LINK };

/** Returns `<sequence>:<link, base64url>`. */
export function encodePlace({ sequence, link }: AuditHead): string {
  return `${sequence}:${Buffer.from(link).toString('base64url')}`;
}

export function decodePlace(text: string): AuditHead {
  const [sequence, link = ''] = text.split(':');
  return { sequence: Number(sequence), link: Buffer.from(link, 'base64url') };
}
