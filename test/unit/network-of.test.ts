import { expect, it } from 'vitest';
import { networkOf } from '../../src/http/connected-clients.ts';
import { createLineLimit, MAX_LINES } from '../../src/http/request-log.ts';

it.each([
  ['', ''],
  ['192.0.2.1', '192.0.2.1'],
  ['::ffff:192.0.2.1', '::ffff:192.0.2.1'],
  ['::1', '0:0:0:0::/64'],
  ['::', '0:0:0:0::/64'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8:1:2::1', '2001:db8:1:2::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['2001:db8::5:0:0:1', '2001:db8:0:0::/64'],
  ['2001::2:3:4:5:6:7', '2001:0:2:3::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
])('the network of %s is %s', (address, network) => {
  expect(networkOf(address)).toBe(network);
});

const PEERS = Array.from({ length: 300 }, (_, n) => `2001:db8:1:2::${n.toString(16)}`);

it('all addresses of a network share its lines', () => {
  const reported: unknown[] = [];
  const limit = createLineLimit((...line) => reported.push(line));
  expect(PEERS.filter((peer) => limit.count(peer))).toHaveLength(MAX_LINES);
  expect(limit.count('2001:db8:1:3::1')).toBe(true);
  limit.end();
  expect(reported).toEqual([['2001:db8:1:2::/64', PEERS.length - MAX_LINES]]);
});
