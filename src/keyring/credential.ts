/** What unlocks a vault: the 32 raw bytes of a key file, or a passphrase as it was typed. */
export type Credential =
  | { readonly kind: 'key_file'; readonly key: Uint8Array }
  | { readonly kind: 'passphrase'; readonly passphrase: string };

export type CredentialKind = Credential['kind'];
