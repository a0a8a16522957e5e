import { isIPv4, isIPv6 } from 'node:net';
import { domainToASCII } from 'node:url';
import { Fault } from '../core/fault.ts';
import type { DaemonOptions } from './daemon-options.ts';

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|::1|::ffff:127(\.\d{1,3}){3})$/i;
const WILDCARDS: ReadonlySet<string> = new Set(['0.0.0.0', '::']);
/**
 * `Host` (RFC 9110 §7.2): an address in brackets, perhaps with a zone, or else a name, which may be empty; and a port.
 */
const AUTHORITY = /^(\[[\da-f:.]+(?:%[\w.~%-]+)?\]|[\w.-]*)(?::\d*)?$/i;
/** A name of DNS in lower case, whose last label is not a number. */
const NAME = /^(?:[a-z\d_](?:[a-z\d_-]{0,61}[a-z\d_])?\.)*(?=[^.]*[a-z_-])[a-z\d_](?:[a-z\d_-]{0,61}[a-z\d_])?$/;
const MAX_NAME = 253;
/** Domains of which nobody can register a name (RFC 6761, RFC 6762 and the list of special-use names of IANA). */
const UNREGISTERED: ReadonlySet<string> = new Set(['internal', 'local', 'localhost', 'test']);

export function isLoopback(host: string): boolean {
  return LOOPBACK.test(host);
}

/** Returns whether an address to listen on means all addresses of this machine. */
export function isEveryAddress(host: string): boolean {
  return WILDCARDS.has(host);
}

/**
 * Returns the host of the URL at which this machine reaches a listener. `address` is what the system has bound for
 * `host`. Clients cannot use 0.0.0.0 and :: as a destination, except on some systems.
 */
export function urlHost(host: string, address = host): string {
  if (isEveryAddress(address)) return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host.toLowerCase();
}

/**
 * Returns the host in a `Host` value, to compare with others: without the port, in lower case, without the dot of an
 * absolute name, and without the zone of an address. Returns undefined for other text. The result is safe in a shell.
 */
export function hostOf(authority: string): string | undefined {
  const host = AUTHORITY.exec(authority)?.[1]?.toLowerCase();
  if (host === undefined) return undefined;
  return host.startsWith('[') ? canonicalAddress(host.slice(1, -1)) : host.replace(/(?<=[^.])\.$/, '');
}

/** Returns an IPv6 address as browsers write it, in brackets; undefined for other text. */
function canonicalAddress(text: string): string | undefined {
  const address = text.replace(/%.*/, '');
  return isIPv6(address) ? new URL(`http://[${address}]`).hostname : undefined;
}

/**
 * Returns a function that checks whether a host, as `hostOf` returns it, is one of this daemon. A page that rebinds its
 * own name to this machine still sends that name, and is rejected. The port does not matter: rebinding changes no port,
 * and a proxy, a container or a tunnel may publish another one.
 */
export function createHostCheck({
  host: ownHost,
  hostNames = [],
}: Pick<DaemonOptions, 'host' | 'hostNames'>): (host: string) => boolean {
  const names = new Set(['127.0.0.1', 'localhost', '[::1]', hostOf(urlHost(ownHost)) ?? ownHost]);
  const domains = new Set<string>();
  for (const name of hostNames.map(parseHostName)) {
    if (name.startsWith('*.')) domains.add(name.slice(1));
    else names.add(name);
  }
  return (host) =>
    names.has(host) || (domains.size > 0 && host.indexOf('.') > 0 && domains.has(host.replace(/^[^.]+/, '')));
}

/**
 * Returns a value of --host-name as `hostOf` returns hosts. `*.` stands for one label. Throws the fault `usage` for a
 * name that no request can have, and for a domain under which anybody can register a name.
 */
export function parseHostName(text: string): string {
  if (isIPv6(text.replace(/^\[(.*)\]$/, '$1'))) return hostOf(urlHost(text.replace(/^\[|\]$/g, ''))) ?? text;
  if (isIPv4(text)) return text;
  const star = text.startsWith('*.') ? '*.' : '';
  const rest = text.slice(star.length);
  // The conversion of a name in other letters drops what follows one of these characters.
  const name = /[\s/\\?#@:%]/.test(rest) ? '' : domainToASCII(rest).replace(/\.$/, '');
  if (!NAME.test(name) || name.length > MAX_NAME) {
    throw new Fault('usage', `--host-name: '${text}' is not a host name`, {
      hint: 'write the name alone, without scheme and port: vault.example.com, or *.example.com',
    });
  }
  if (star !== '' && !name.includes('.') && !UNREGISTERED.has(name)) {
    throw new Fault('usage', `--host-name: '${text}' would accept the names of strangers`, {
      hint: 'name a domain of your own: *.example.com',
    });
  }
  return star + name;
}

/** Returns whether --host-name takes a host, as `hostOf` returns it. */
export function isHostName(host: string): boolean {
  try {
    parseHostName(host);
    return true;
  } catch {
    return false;
  }
}
