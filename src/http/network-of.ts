/** The number of 16-bit groups in an IPv6 address, and in its first half. */
const [GROUPS, NETWORK_GROUPS] = [8, 4];

/**
 * Returns the network of an address, for limits: an IPv6 address without its last 64 bits, because one client usually has
 * all addresses of such a network (RFC 6177). Returns every other text unchanged, such as an IPv4 address.
 */
export function networkOf(address: string): string {
  if (!address.includes(':') || address.includes('.')) return address;
  const [start = [], end = []] = address.split('::').map((part) => part.split(':').filter((group) => group !== ''));
  const zeros = Array<string>(Math.max(0, GROUPS - start.length - end.length)).fill('0');
  return `${[...start, ...zeros, ...end].slice(0, NETWORK_GROUPS).join(':')}::/64`;
}
