/** A field that a clause compares with a value. */
export type MatchField =
  | 'data'
  | 'metadata'
  | 'id'
  | 'fingerprint'
  | 'type'
  | 'created_by'
  | 'modified_by'
  | 'container';

export type RangeField = 'created_at' | 'modified_at' | 'expires_at';

/** A parsed search query. */
export type Query =
  | { readonly kind: 'and'; readonly parts: readonly Query[] }
  | { readonly kind: 'or'; readonly parts: readonly Query[] }
  | { readonly kind: 'not'; readonly part: Query }
  | {
      readonly kind: 'match';
      readonly field: MatchField;
      /** The key of a metadata clause. */
      readonly key?: string;
      readonly value: string;
      /** Set when the clause also matches all containers below the value. */
      readonly below?: true;
    }
  | {
      readonly kind: 'range';
      readonly field: RangeField;
      /** The bound in milliseconds since 1970; undefined for an open end. */
      readonly from: number | undefined;
      readonly fromInclusive: boolean;
      readonly to: number | undefined;
      readonly toInclusive: boolean;
    };
