import { codeOf, type Rule } from './rules.ts';

/**
 * The key of a sealed value. `carried` keys outlive a tenant, a rotation of its keys and the master key, so no value
 * under one contains data of tokens or a key. `given` functions seal under the key of their caller.
 */
type SealingKey = 'slot' | 'master' | 'tenant' | 'carried' | 'given';

/** Everything that the product seals: the file, the call as written, its key and what it seals. */
export const SEALED: readonly (readonly [file: string, call: string, key: SealingKey, what: string])[] = [
  ['src/keyring/slot.ts', 'sealEnvelope(sodium, kek', 'slot', 'the master key'],
  ['src/keyring/tenant-keyring.ts', 'sealEnvelope(sodium, wrappingKey', 'master', 'the keys of a tenant'],
  ['src/keyring/carried-keys.ts', 'sealEnvelope(sodium, wrapping', 'master', 'the carried keys'],
  ['src/keyring/replace-master-key.ts', 'sealCarriedKeys(sodium, next', 'master', 'the carried keys'],
  ['src/keyring/envelope.ts', 'crypto_aead_xchacha20poly1305_ietf_encrypt(plaintext, context', 'given', 'any bytes'],
  ['src/keyring/envelope.ts', 'sealEnvelope(sodium, key', 'given', 'any text'],

  ['src/keyring/keyring.ts', 'sealText(sodium, carried.audit_sealing', 'carried', 'entries of the audit'],
  ['src/keyring/keyring.ts', 'sealText(sodium, carried.audit_sealing', 'carried', 'the base of the audit'],
  ['src/keyring/keyring.ts', 'sealText(sodium, carried.audit_sealing', 'carried', 'cursors of lists'],
  ['src/core/audit/audit.ts', 'keyring.sealAuditEvent(at, encodeAuditRow', 'carried', 'ids, actions and results'],
  ['src/core/audit/follower.ts', 'keyring.sealAuditEvent(at, text', 'carried', 'ids, actions, results and a digest'],
  ['src/core/audit/sums.ts', 'keyring.sealAuditBase({ sequence, at', 'carried', 'sums of hashes of records'],
  ['src/core/tokens/list.ts', 'keyring.sealCursor(tenant.record.id, text', 'carried', 'the time and id of a token'],
  ['src/vault/move.ts', 'keyring.sealAuditEvent(at, encodeAuditRow', 'carried', 'the move of a vault'],

  ['src/keyring/tenant-keyring.ts', 'sealText(sodium, key', 'tenant', 'the values below'],
  ['src/core/tenants/tenant-codec.ts', 'keyring.seal(contextOf(clear.id, clear', 'tenant', 'name and settings'],
  ['src/core/applications/application-codec.ts', 'keyring.seal(contextOf(clear.id, clear', 'tenant', 'name, rules'],
  [
    'src/core/applications/application-codec.ts',
    'keyring.seal(keyContextOf(record',
    'tenant',
    'nothing: binds columns',
  ],
  ['src/core/tokens/token-codec.ts', 'keyring.seal(contextOf(id, clear', 'tenant', 'the masked form'],
  ['src/core/tokens/token-codec.ts', 'keyring.seal(contextOf(id, clear', 'tenant', 'the data'],
  ['src/core/reply-codec.ts', 'keyring.seal(contextOf(clear', 'tenant', 'ids; a new API key'],
  ['src/core/tokens/tokenize.ts', 'prepared.seal(prepared.ids.next(', 'tenant', 'a token, by sealToken'],
  ['src/core/tokens/tokenize.ts', 'prepared.seal(next.value', 'tenant', 'a token, by sealToken'],
];

/** Matches a call that seals, with at most two arguments. */
const SEALING =
  /(?<!function )\b((?:\w+\.seal|\w+\.seal(?:Audit\w+|Cursor)|sealCarriedKeys|sealEnvelope|sealText|crypto_\w+_(?:encrypt|push)|crypto_box_seal|crypto_\w+_easy|createCipheriv)\((?:[\w. ]+\([^(),]*|[^(),]*)(?:, [\w. ]+)?)/g;

/** Returns the sealing calls of a file, as they are written in SEALED. */
export function sealingCalls(text: string): readonly string[] {
  return [...codeOf(text).matchAll(SEALING)].map(([, call = '']) => call);
}

/** A new use of a sealing key must be added to SEALED deliberately. */
export const sealedValuesAreListed: Rule = (sources) =>
  [...sources].flatMap(([file, text]) => {
    if (!file.startsWith('src/')) return [];
    const left = SEALED.filter(([of]) => of === file).map(([, call]) => call);
    return sealingCalls(text).flatMap((call) => {
      const at = left.indexOf(call);
      if (at >= 0) left.splice(at, 1);
      return at >= 0 ? [] : [`${file}: \`${call}\` is not listed in SEALED with its key and its contents`];
    });
  });
