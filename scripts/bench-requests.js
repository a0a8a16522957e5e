import { requestBytes } from './bench-load.js';
import { cardBody, customer } from './bench-vault.js';

const JSON_BODY = { 'content-type': 'application/json' };
const PATCH_BODY = { 'content-type': 'application/merge-patch+json' };

/** More than any server answers in a second: whose requests may not come twice is given so many. */
export const MOST_A_SECOND = 30_000;

/** Requests with the keys of a vault, as bytes. `host` is the daemon's: it answers for its own name only. */
export function benchRequests(keys, host) {
  const request = (who, method, path, { headers, body } = {}) =>
    requestBytes({ method, path, headers: { 'svc-api-key': keys[who], ...headers }, body }, host);
  return {
    get: (who, id) => request(who, 'GET', `/tokens/${id}`),
    list: (who, query) => request(who, 'GET', `/tokens?${query}`),
    ofCustomer: (number) => request('reveal', 'GET', `/tokens?metadata.customer=${customer(number)}`),
    usage: () => request('management', 'GET', '/tenants/self/reports/usage'),
    create: (n) => request('reveal', 'POST', '/tokens', { headers: JSON_BODY, body: cardBody(n) }),
    patch: (id, n) => {
      const body = JSON.stringify({ metadata: { order: `patched-${String(n).padStart(8, '0')}` } });
      return request('reveal', 'PATCH', `/tokens/${id}`, { headers: PATCH_BODY, body });
    },
    delete: (id) => request('reveal', 'DELETE', `/tokens/${id}`),
  };
}

/** One request after the other, `most` in all: from the first again after the last. */
export function inTurn(requests, { most = Number.POSITIVE_INFINITY } = {}) {
  let given = 0;
  return () => (given < most ? requests[given++ % requests.length] : undefined);
}

/** Every so manieth of a list, in a random order: `most` at most. */
export function sample(values, most) {
  const step = Math.max(1, values.length / most);
  const kept = Array.from({ length: Math.min(most, values.length) }, (_, at) => values[Math.floor(at * step)]);
  for (let at = kept.length - 1; at > 0; at -= 1) {
    const other = Math.floor(Math.random() * (at + 1));
    [kept[at], kept[other]] = [kept[other], kept[at]];
  }
  return kept;
}
