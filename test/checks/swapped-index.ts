export interface IndexDialect {
  /** Returns the blind index of the fingerprint of a token. */
  first(token: string): string;
  /** A blind index that no token has. */
  readonly none: string;
  /** Exchanges the containers of the sets in the temporary table `s`, which has their numbers and names. */
  readonly sets: string;
}

export const FILE: IndexDialect = {
  first: (token) => `substr((SELECT blinds FROM token WHERE token = ${token}), 1, 16)`,
  none: 'zeroblob(16)',
  sets: `UPDATE container_set SET (number, name) = (SELECT s.number, s.name FROM s WHERE s.number <> container_set.number)
    WHERE tenant = 1 AND number IN (SELECT number FROM s);`,
};

export const STORE: IndexDialect = {
  first: (token) => `(SELECT blinds[1] FROM token WHERE token = ${token})`,
  none: "'00000000-0000-0000-0000-000000000000'::uuid",
  sets: `CREATE TEMP TABLE m AS SELECT number, containers FROM container_set WHERE tenant = 1;
    UPDATE container_set SET containers = (SELECT m.containers FROM m JOIN s ON s.number = m.number
      WHERE s.number <> container_set.number) WHERE tenant = 1 AND number IN (SELECT number FROM s);`,
};

/**
 * Returns edits to a vault without its key after which its indexes find the token `two` by values of the token `one`.
 * Both are tokens of the first tenant, with other containers in numbered sets and other values.
 */
export function swappedIndex(one: string, two: string, { first, none, sets }: IndexDialect = FILE) {
  const [ONE, TWO] = [one, two].map((id) => `(SELECT token FROM token WHERE tenant = 1 AND id = '${id}')`) as [
    string,
    string,
  ];
  const insert = 'INSERT INTO token_index (tenant, blind, set_number, created_at, token)';
  const entries = `CREATE TEMP TABLE e AS SELECT * FROM token_index WHERE token IN (${ONE}, ${TWO});
    DELETE FROM token_index WHERE token IN (${ONE}, ${TWO});
    ${insert} SELECT e.tenant, e.blind, t.set_number, t.created_at, t.token FROM e
      JOIN token t ON t.token = ${ONE} + ${TWO} - e.token;`;
  const exchanged = (column: string) => `CREATE TEMP TABLE c AS SELECT token, ${column} FROM token;
    UPDATE token SET ${column} = (SELECT c.${column} FROM c WHERE c.token = ${ONE} + ${TWO} - token.token)
      WHERE token IN (${ONE}, ${TWO}); DROP TABLE c;`;
  const moved = (column: string) => `${exchanged(column)}
    UPDATE token_index SET ${column} = (SELECT t.${column} FROM token t WHERE t.token = token_index.token)
      WHERE token IN (${ONE}, ${TWO});`;
  return {
    'the entries of two tokens exchanged': entries,
    'the entries and the lists of two tokens exchanged': entries + exchanged('blinds'),
    'the entries, lists and container sets of two tokens exchanged': `${exchanged('set_number')} ${entries}
      ${exchanged('blinds')}`,
    'the container sets of two tokens exchanged': moved('set_number'),
    'the containers of two sets exchanged': `CREATE TEMP TABLE s AS SELECT DISTINCT number, name FROM container_set
      WHERE tenant = 1 AND number IN (SELECT set_number FROM token WHERE token IN (${ONE}, ${TWO}));
      ${sets}`,
    'the entries of one token given to the other, too': `${insert}
      SELECT i.tenant, i.blind, t.set_number, t.created_at, t.token FROM token_index i JOIN token t ON t.token = ${TWO}
      WHERE i.token = ${ONE} ON CONFLICT DO NOTHING;`,
    'the entries of both tokens removed': `DELETE FROM token_index WHERE token IN (${ONE}, ${TWO});`,
    'the fingerprints of two tokens exchanged in the index': `
      CREATE TEMP TABLE f AS SELECT ${first(ONE)} AS a, ${first(TWO)} AS b;
      UPDATE token_index SET blind = ${none} WHERE blind = (SELECT a FROM f);
      UPDATE token_index SET blind = (SELECT a FROM f) WHERE blind = (SELECT b FROM f);
      UPDATE token_index SET blind = (SELECT b FROM f) WHERE blind = ${none};`,
    'the types of two tokens exchanged': exchanged('type'),
    'the times of two tokens exchanged': moved('created_at'),
  };
}
