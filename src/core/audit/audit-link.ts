/** Bytes of what chains an entry of the audit to the one before it. */
export const LINK_BYTES = 16;

/** The link before the first entry. */
export const NO_LINK: Uint8Array = new Uint8Array(LINK_BYTES);
