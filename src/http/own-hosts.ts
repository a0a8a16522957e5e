import type { DaemonOptions } from './daemon-options.ts';

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|::1|::ffff:127(\.\d{1,3}){3})$/i;
const WILDCARDS: ReadonlySet<string> = new Set(['0.0.0.0', '::']);

export function isLoopback(host: string): boolean {
  return LOOPBACK.test(host);
}

/** Returns whether a connection's remote address is this machine: loopback, or `''` for a Unix socket. */
export function isOwnMachine(address: string): boolean {
  return address === '' || isLoopback(address);
}

/** Returns a host as URLs and `Host` contain it: an IPv6 address in brackets, a name in lower case. */
export function urlHost(host: string): string {
  return host.includes(':') ? `[${host}]` : host.toLowerCase();
}

/**
 * Returns a function that checks whether a `Host` value names this daemon. A page that rebinds its own name to
 * 127.0.0.1 still sends that name, and is rejected. The port may be absent only if it is the scheme's default (RFC 9110
 * §7.2). A Unix socket has no port, so it accepts its names with any port.
 */
export function createHostCheck(
  { host: ownHost, tls, hostNames = [] }: Pick<DaemonOptions, 'host' | 'tls' | 'hostNames'>,
  port: number | undefined,
): (host: string) => boolean {
  const names = ['127.0.0.1', 'localhost', '[::1]', ...hostNames.map((name) => name.toLowerCase())];
  if (!WILDCARDS.has(ownHost)) names.push(urlHost(ownHost));
  if (port === undefined) {
    const known = new Set(names);
    return (host) => known.has(host.toLowerCase().replace(/:\d{1,5}$/, ''));
  }
  const accepted = new Set(names.map((name) => `${name}:${port}`));
  if (port === (tls === undefined ? 80 : 443)) for (const name of names) accepted.add(name);
  return (host) => accepted.has(host) || accepted.has(host.toLowerCase());
}
