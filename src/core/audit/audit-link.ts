/** The length of a link to the previous entry, in bytes. */
export const LINK_BYTES = 16;

/** The link before the first entry. */
export const NO_LINK: Uint8Array = new Uint8Array(LINK_BYTES);

/** The id of the root chain, whose entries open and record the other chains. Most stores have only this chain. */
export const ROOT_CHAIN = '0';
