/** The version of libsodium that seals. */
export async function sodiumVersion(): Promise<string> {
  const { default: sodium } = await import('libsodium-wrappers');
  await sodium.ready;
  return sodium.SODIUM_VERSION_STRING;
}
