import type { DaemonOptions } from './daemon-options.ts';

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|::1|::ffff:127(\.\d{1,3}){3})$/i;
const WILDCARDS: ReadonlySet<string> = new Set(['0.0.0.0', '::']);

export function isLoopback(host: string): boolean {
  return LOOPBACK.test(host);
}

/** Returns the remote address of a connection, or `''` for a Unix socket, which only this machine reaches. */
export function isOwnMachine(address: string): boolean {
  return address === '' || isLoopback(address);
}

/** Returns an address or a name in the form of URLs and of `Host`. */
export function urlHost(host: string): string {
  return host.includes(':') ? `[${host}]` : host.toLowerCase();
}

/**
 * Returns whether a `Host` value names this daemon. A page that rebinds its own name to 127.0.0.1 still sends its own
 * name, and is rejected here. The port may be absent only if it is the scheme's default (RFC 9110 §7.2). A Unix socket
 * has no port and accepts every Host, because the client invents the name in the URL.
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
