import type sumo from 'libsodium-wrappers-sumo';

/** The part of libsodium that sealed exports and their keys use. No command that opens a vault needs it for that. */
export type TransferSodium = Pick<
  typeof sumo,
  | 'crypto_box_seal'
  | 'crypto_box_seal_open'
  | 'crypto_generichash'
  | 'crypto_scalarmult_base'
  | 'crypto_secretstream_xchacha20poly1305_ABYTES'
  | 'crypto_secretstream_xchacha20poly1305_HEADERBYTES'
  | 'crypto_secretstream_xchacha20poly1305_TAG_FINAL'
  | 'crypto_secretstream_xchacha20poly1305_TAG_MESSAGE'
  | 'crypto_secretstream_xchacha20poly1305_init_pull'
  | 'crypto_secretstream_xchacha20poly1305_init_push'
  | 'crypto_secretstream_xchacha20poly1305_pull'
  | 'crypto_secretstream_xchacha20poly1305_push'
  | 'memcmp'
>;

/** The larger libsodium, which passphrases need, too. */
export async function loadTransferSodium(): Promise<TransferSodium> {
  const { default: loaded } = await import('libsodium-wrappers-sumo');
  await loaded.ready;
  return loaded;
}
