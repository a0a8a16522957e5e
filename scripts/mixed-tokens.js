/**
 * Made-up tokens with what they must look like when masked, worked out here and not by the vault: cards of test ranges,
 * bank accounts, nested objects, unicode, 100 KB strings, numbers. The same seed makes the same tokens.
 */

/** mulberry32: numbers in [0, 1), the same on every machine. */
export function seededRandom(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

const pick = (random, list) => list[Math.floor(random() * list.length)];
const digits = (random, count) => Array.from({ length: count }, () => Math.floor(random() * 10)).join('');
const letters = (random, count) =>
  Array.from({ length: count }, () => pick(random, 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ')).join('');

function luhnCard(random) {
  const [prefix, length] = pick(random, [
    ['424242', 16],
    ['555555', 16],
    ['378282', 15],
    ['601111', 16],
  ]);
  const body = prefix + digits(random, length - prefix.length - 1);
  const sum = [...body]
    .reverse()
    .map(Number)
    .reduce((total, digit, index) => total + (index % 2 ? digit : digit * 2 > 9 ? digit * 2 - 9 : digit * 2), 0);
  return body + ((10 - (sum % 10)) % 10);
}

function abaNumber(random) {
  const body = `0${digits(random, 7)}`;
  const weights = [3, 7, 1, 3, 7, 1, 3, 7];
  const sum = weights.reduce((total, weight, index) => total + weight * Number(body[index]), 0);
  return body + ((10 - (sum % 10)) % 10);
}

const lastFour = (text) => 'X'.repeat(text.length - 4) + text.slice(-4);

const KINDS = [
  (random) => {
    const number = luhnCard(random);
    const expiry = { expiration_month: 1 + Math.floor(random() * 12), expiration_year: 2030 };
    return {
      body: { type: 'card', data: { number, ...expiry, cvc: digits(random, 3) } },
      masked: { number: lastFour(number), ...expiry },
      canaries: [number],
    };
  },
  (random) => {
    const routing_number = abaNumber(random);
    const account_number = digits(random, 12);
    return {
      body: { type: 'bank', data: { routing_number, account_number } },
      masked: { routing_number, account_number: lastFour(account_number) },
      canaries: [account_number],
    };
  },
  (random) => {
    const secret = letters(random, 24);
    const data = { person: { name: secret, tags: ['a', null, true, 1.5], deeper: [{ still: { deeper: secret } }] } };
    return { body: { type: 'token', data, containers: ['/canary/shelf/'] }, masked: undefined, canaries: [secret] };
  },
  (random) => {
    const data = `Zoë ✓ 漢字 🃏 ${letters(random, 20)}`;
    const mask = '{{ data | reveal_last: 4 }}';
    const masked = 'X'.repeat([...data].length - 4) + [...data].slice(-4).join('');
    return { body: { type: 'token', data, mask }, masked, canaries: [data] };
  },
  (random, index) => {
    // One in twenty is 100 KB long.
    const data = letters(random, index % 100 === 4 ? 100 * 1024 : 32);
    return { body: { type: 'token', data }, masked: undefined, canaries: [data.slice(0, 64)] };
  },
];

/** One token: the request's body, its masked form, its metadata, and the texts that must not stand in the file. */
export function makeToken(random, index) {
  const { body, masked, canaries } = KINDS[index % KINDS.length](random, index);
  const metadata = { customer: `canary-${letters(random, 12)}`, note: `Nöte-${letters(random, 8)}` };
  return { body: { ...body, metadata }, metadata, masked, canaries: [...canaries, ...Object.values(metadata)] };
}
