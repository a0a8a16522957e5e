import type { EventEmitter } from 'node:events';
import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { runningTime } from '../core/timers.ts';
import { isLoopback } from './own-hosts.ts';

/** The peer of a connection that ended before its address was read. It counts as another machine. */
const UNKNOWN = 'unknown';
/** How long after a client closed its sending side it may still wait for a reply, in milliseconds. */
const HALF_CLOSED_MS = 500;
/** The number of 16-bit groups in an IPv6 address, and in its first half. */
const [GROUPS, NETWORK_GROUPS] = [8, 4];

/** The client of a connection. */
interface Peer {
  /** The address; `''` for a Unix socket, and `unknown` if the client went away too early. */
  readonly address: string;
  /** The address of another machine; absent for this machine. */
  readonly remote: string | undefined;
}

const peers = new WeakMap<Duplex, Peer>();
/** When the client of each connection closed its sending side. */
const closed = new WeakMap<Duplex, number>();

/**
 * Keeps the address of each new connection of a server, and when its client closes its sending side. The system forgets
 * the address when the client resets the connection, and the request of such a client still runs. `event` is `connection`
 * or `secureConnection`.
 */
export function noteClients(
  server: EventEmitter & Partial<Pick<Server, 'listening' | 'address'>>,
  event: string,
): void {
  server.on(event, (socket: Socket) => {
    // The address of a server on a Unix socket is a path, or null if another process created the socket.
    const isUnixSocket = server.listening && typeof (server.address?.() ?? '') === 'string';
    peers.set(socket, peerAt(isUnixSocket ? '' : socket.remoteAddress));
    socket.once('end', () => closed.set(socket, runningTime()));
  });
}

function peerAt(address = UNKNOWN): Peer {
  return { address, remote: address === '' || isLoopback(address) ? undefined : address };
}

/** Returns the client of a connection. */
export function peerOf(socket: Duplex & { readonly remoteAddress?: string | undefined }): Peer {
  return peers.get(socket) ?? peerAt(socket.remoteAddress);
}

/**
 * Returns whether the client of a response has left. A client that has ended and one that only closes its sending side
 * (`printf … | nc`) look alike until the daemon writes.
 */
export function hasLeft({ destroyed, req: { socket } }: Pick<ServerResponse, 'destroyed' | 'req'>): boolean {
  const closedAt = closed.get(socket);
  return destroyed || (closedAt !== undefined && runningTime() - closedAt >= HALF_CLOSED_MS);
}

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
