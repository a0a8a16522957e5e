const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|::1|::ffff:127(\.\d{1,3}){3})$/i;
const WILDCARDS: ReadonlySet<string> = new Set(['0.0.0.0', '::']);

export function isLoopback(host: string): boolean {
  return LOOPBACK.test(host);
}

/** Where a connection comes from: its address, or `''` for a Unix socket, which only this machine reaches. */
export function isOwnMachine(address: string): boolean {
  return address === '' || isLoopback(address);
}

/** An address or a name as it stands in a URL and in `Host`. */
export function urlHost(host: string): string {
  return host.includes(':') ? `[${host}]` : host.toLowerCase();
}

/** Where the daemon listens, as far as `Host` is concerned. */
export interface OwnAddress {
  readonly host: string;
  /** Absent on a Unix socket, where any port passes: the name in the URL is the client's invention. */
  readonly port: number | undefined;
  readonly secure: boolean;
  readonly hostNames: readonly string[];
}

/**
 * Whether a `Host` value names this daemon. A page that rebinds its own name to 127.0.0.1 still sends its own name, and
 * is turned away here. The port may be left out only where it is the scheme's default (RFC 9110 §7.2).
 */
export function createHostCheck(address: OwnAddress): (host: string) => boolean {
  const { port, secure } = address;
  const names = ['127.0.0.1', 'localhost', '[::1]', ...address.hostNames.map((name) => name.toLowerCase())];
  if (!WILDCARDS.has(address.host)) names.push(urlHost(address.host));
  if (port === undefined) {
    const known = new Set(names);
    return (host) => known.has(host.toLowerCase().replace(/:\d{1,5}$/, ''));
  }
  const accepted = new Set(names.map((name) => `${name}:${port}`));
  if (port === (secure ? 443 : 80)) for (const name of names) accepted.add(name);
  return (host) => accepted.has(host) || accepted.has(host.toLowerCase());
}
