export type TamperEdit = readonly [sql: string, table: string, id: string, what: RegExp];

/** Returns edits that lead to the same finding of `vault doctor`. */
export function edits(
  table: string,
  id: string,
  what: RegExp,
  named: Readonly<Record<string, string>>,
): Readonly<Record<string, TamperEdit>> {
  return Object.fromEntries(Object.entries(named).map(([name, sql]) => [name, [sql, table, id, what]]));
}

/**
 * Edits to a closed file without its key, and a finding that doctor must then report. They fit any vault with the
 * tokens `token-1` and `token-2`, each with a mask and metadata, whose last change created `token-3`. An empty id
 * matches every row.
 */
export const TAMPER_EDITS: Readonly<Record<string, TamperEdit>> = {
  ...edits('token', 'token-1', /cannot be decrypted/, {
    'two rows swapped': `UPDATE token SET id = 'x' WHERE id = 'token-1'; UPDATE token SET id = 'token-1' WHERE id = 'token-2';
     UPDATE token SET id = 'token-2' WHERE id = 'x'`,
    'a sealed column copied from another row':
      "UPDATE token SET full = (SELECT full FROM token WHERE id = 'token-2') WHERE id = 'token-1'",
    'a sealed column copied within the row': "UPDATE token SET presented = full WHERE id = 'token-1'",
    'some bytes overwritten':
      "UPDATE token SET presented = CAST(zeroblob(4) || substr(presented, 5) AS BLOB) WHERE id = 'token-1'",
    'the clear columns edited':
      "UPDATE token SET clear = CAST(substr(clear, 1, 40) || 'z' || substr(clear, 42) AS BLOB) WHERE id = 'token-1'",
    'a revision edited': "UPDATE token SET revision = 2 WHERE id = 'token-1'",
    'an expiry edited': "UPDATE token SET expires_at = 9e12 WHERE id = 'token-1'",
    'a type edited': "UPDATE token SET type = 2 WHERE id = 'token-1'",
    'a key id edited': "UPDATE token SET key_id = 2 WHERE id = 'token-1'",
    'an index key id edited': "UPDATE token SET index_key_id = 1 WHERE id = 'token-1'",
  }),
  ...edits('token', 'token-1', /clear columns/, {
    'an unknown type': "UPDATE token SET type = 99 WHERE id = 'token-1'",
  }),
  ...edits('token', 'token-1', /blind indexes that do not match its contents/, {
    'the list of blind indexes of another row':
      "UPDATE token SET blinds = (SELECT blinds FROM token WHERE id = 'token-2') WHERE id = 'token-1'",
    'a list of blind indexes with no fingerprint in front':
      "UPDATE token SET blinds = CAST(substr(blinds, 17) || substr(blinds, 1, 16) AS BLOB) WHERE id = 'token-1'",
    'a set of containers left out': "UPDATE token SET set_number = 0 WHERE id = 'token-1'",
    'a blind index left out, from row and index': `DELETE FROM token_index WHERE blind = (SELECT substr(blinds, 17, 16) FROM token WHERE id = 'token-1')
       AND token = (SELECT token FROM token WHERE id = 'token-1');
     UPDATE token SET blinds = CAST(substr(blinds, 1, 16) || substr(blinds, 33) AS BLOB) WHERE id = 'token-1'`,
  }),
  ...edits('token', 'token-1', /container set that does not exist/, {
    'a token and all its entries moved to a set that does not exist': `INSERT INTO token_index
       SELECT t.tenant, s.container, 9, t.created_at, t.token FROM token t
       JOIN container_set s ON s.tenant = t.tenant AND s.number = t.set_number WHERE t.id = 'token-1';
     UPDATE token_index SET set_number = 9 WHERE token = (SELECT token FROM token WHERE id = 'token-1');
     UPDATE token SET set_number = 9, blinds = CAST(blinds || (SELECT group_concat(container, '') FROM container_set
       WHERE tenant = token.tenant AND number = token.set_number) AS BLOB) WHERE id = 'token-1'`,
  }),
  ...edits('container_set', '', /not named by its containers/, {
    'a set of containers renamed': 'UPDATE container_set SET name = zeroblob(16)',
  }),
  ...edits('token_index', 'token-1', /missing/, {
    'an index entry removed':
      "DELETE FROM token_index WHERE blind = (SELECT substr(blinds, 1, 16) FROM token WHERE id = 'token-1')",
    'an index entry moved to another set':
      "UPDATE token_index SET set_number = 9 WHERE blind = (SELECT substr(blinds, 1, 16) FROM token WHERE id = 'token-1')",
  }),
  ...edits('token_index', 'token-1', /unexpected/, {
    'an index entry added':
      "INSERT INTO token_index SELECT tenant, zeroblob(16), set_number, created_at, token FROM token WHERE id = 'token-1'",
  }),
  ...edits('token_index', 'token-2', /unexpected/, {
    'an index entry moved to another token': `UPDATE token_index SET token = (SELECT token FROM token WHERE id = 'token-2')
     WHERE blind = (SELECT substr(blinds, 1, 16) FROM token WHERE id = 'token-1')`,
  }),
  ...edits('token_index', '', /leads to no token/, { 'a row deleted': "DELETE FROM token WHERE id = 'token-1'" }),
  ...edits('counter', '', /counter of a type/, {
    'a row deleted with its entries': `DELETE FROM token_index WHERE token = (SELECT token FROM token WHERE id = 'token-1');
     DELETE FROM token WHERE id = 'token-1'`,
    'a counter changed': 'UPDATE counter SET count = count + 1 WHERE type > 0',
  }),
  ...edits('counter', '', /last creation time/, {
    'a last time of creation changed': 'UPDATE counter SET at = 1 WHERE type > 0',
  }),
  ...edits('counter', '', /counter of a month/, {
    'a counter of a month changed': 'UPDATE counter SET count = 1 WHERE month > 0',
  }),
  ...edits('tombstone', 'never', /clear column was altered/, {
    'a tombstone edited': `INSERT INTO tombstone SELECT tenant, 'never', type, zeroblob(16), created_at, NULL, 1, zeroblob(16)
     FROM token WHERE id = 'token-1'`,
  }),
  ...edits('audit', '4', /was altered/, {
    'an entry of the audit edited': 'UPDATE audit SET at = at + 1 WHERE sequence = 4',
  }),
  ...edits('audit', '4', /is missing/, { 'an entry of the audit removed': 'DELETE FROM audit WHERE sequence = 4' }),
  ...edits('audit', '4', /was altered or moved/, {
    'two entries of the audit swapped': `UPDATE audit SET sequence = 99 WHERE sequence = 4; UPDATE audit SET sequence = 4 WHERE sequence = 5;
     UPDATE audit SET sequence = 5 WHERE sequence = 99`,
  }),
  ...edits('audit', '8', /is a copy of an earlier row/, {
    'an entry of the audit written twice':
      'INSERT INTO audit SELECT sequence + 1, at, sealed, link FROM audit ORDER BY sequence DESC LIMIT 1',
  }),
  ...edits('token', 'token-3', /not in the audit/, {
    'the last entry of the audit cut': 'DELETE FROM audit WHERE sequence = (SELECT max(sequence) FROM audit)',
  }),
  ...edits('token', 'token-1', /tombstone/, {
    'a tombstone of a live token': `INSERT INTO tombstone SELECT tenant, id, type, zeroblob(16), created_at, NULL, 1, zeroblob(16)
     FROM token WHERE id = 'token-1'`,
  }),
  ...edits('tenant_key', '', /cannot be unwrapped/, {
    'wrapped keys swapped':
      'UPDATE tenant_key SET wrapped = (SELECT wrapped FROM tenant_key k WHERE k.key_id = 3 - tenant_key.key_id)',
    'a wrapped key removed': 'DELETE FROM tenant_key WHERE key_id = 1',
  }),
  ...edits('tenant', '', /cannot be decrypted/, { 'the tenant edited': 'UPDATE tenant SET owner_id = zeroblob(16)' }),
  ...edits('application', '', /cannot be decrypted/, {
    'an application of another type': 'UPDATE application SET type = 3',
    'an application of another parent': `UPDATE application SET parent_id = (SELECT min(id) FROM application)
     WHERE application = (SELECT max(application) FROM application)`,
  }),
  ...edits('application_key', '', /cannot be decrypted/, {
    'an application given another key': 'UPDATE application_key SET hash = zeroblob(32) WHERE application_key = 2',
    'a key given to another application': `UPDATE application_key SET application_id =
     (SELECT application_id FROM application_key WHERE application_key = 1) WHERE application_key = 2`,
    'the end of a key removed': 'UPDATE application_key SET expires_at = 1',
    'a key of another version': 'UPDATE application_key SET version = 3; UPDATE application SET key_version = 3',
    'a key of another revision': 'UPDATE application_key SET revision = 2',
    'a key of another creator': 'UPDATE application_key SET created_by = zeroblob(16)',
    'an older key': 'UPDATE application_key SET created_at = created_at - 1',
    'the seals of two keys exchanged': `UPDATE application_key SET seal = (SELECT seal FROM application_key k
     WHERE k.application_key = 3 - application_key.application_key) WHERE application_key IN (1, 2)`,
  }),
  ...edits('application_key', '', /belongs to an application that does not exist/, {
    'an orphaned key': 'DELETE FROM application WHERE application = 2',
  }),
  ...edits('application_key', '', /last used before it was created/, {
    'a key used too early': 'UPDATE application_key SET last_used_day = 1',
  }),
  ...edits('application_key', '', /row was removed outside the vault/, {
    'a key removed': 'DELETE FROM application_key WHERE application_key = 2',
  }),
  ...edits('application', '', /counted fewer API keys/, {
    'fewer keys counted': 'UPDATE application SET key_version = 0',
  }),
  ...edits('application', '', /with an API key that no longer exists/, {
    'an application of a creator with another key':
      'UPDATE application SET parent_id = id, parent_key_id = zeroblob(16) WHERE application = 2',
  }),
  ...edits('application', '', /created by an application that no longer exists/, {
    'an orphaned application':
      'UPDATE application SET parent_id = zeroblob(16) WHERE application = (SELECT max(application) FROM application)',
  }),
  ...edits('header', '', /slot 0/, {
    'a slot damaged': 'UPDATE slot SET bytes = CAST(zeroblob(4) || substr(bytes, 5) AS BLOB)',
  }),
  ...edits('header', '', /header/, {
    'a slot added': 'INSERT INTO slot SELECT max(slot) + 1, bytes FROM slot',
    'the header edited': 'UPDATE header SET created_at = created_at + 1',
  }),
  ...edits('file', '', /tables/, {
    'a trigger planted': 'CREATE TRIGGER t AFTER INSERT ON token BEGIN DELETE FROM tombstone; END',
  }),
  ...edits('counter', '', /note of the last sweep/, {
    'the note of the last sweep removed': 'DELETE FROM counter WHERE tenant = 0',
  }),
  ...edits('counter', '', /clock note was altered/, {
    'the latest expiry that passed moved to 2100':
      "UPDATE counter SET clock = '4102444800000' || substr(clock, instr(clock, ' ')) WHERE tenant = 0",
  }),
  ...edits('counter', 'tenant 77', /tenant that does not exist/, {
    'a row of an unknown tenant': "INSERT INTO counter VALUES (77, 0, 1, 0, 0, 1, 0, '')",
  }),
};
