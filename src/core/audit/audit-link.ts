/** The length of a link to the previous entry, in bytes. */
export const LINK_BYTES = 16;

/** The link before the first entry. */
export const NO_LINK: Uint8Array = new Uint8Array(LINK_BYTES);

/** The first chain of the audit, on which all other chains hang. Most stores have only this chain. */
export const ROOT_CHAIN = '0';
