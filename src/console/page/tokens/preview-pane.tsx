import type { TokenPreview } from '../../../contract/token.ts';
import { AsCommand } from '../parts/as-command.tsx';
import { JsonView, memberText } from '../parts/json.tsx';
import { Tags } from '../parts/pieces.tsx';
import { Table } from '../parts/table.tsx';
import { SeenBy } from './seen-by.tsx';

const ID_IS = {
  given: 'as given',
  sample: 'a sample: creating the token draws a new random part',
  assigned: 'a sample: creating the token assigns another id',
} as const;

interface PreviewOptions {
  /** The reply to a preview as JSON text; empty before the first reply. */
  readonly text: string;
  /** Whether the reply belongs to an earlier draft. */
  readonly isStale: boolean;
}

/** Shows the result of a create: the id, the masked form, the search values, and the applications that would see it. */
export function PreviewPane({ text, isStale, none }: PreviewOptions & { readonly none: string }) {
  return (
    <>
      {text === '' ? <p class="note">{none}</p> : <Made {...{ text, isStale }} />}
      <AsCommand of={{ operation: 'createToken', body: 'FILE' }} />
    </>
  );
}

function Made({ text, isStale }: PreviewOptions) {
  const made: TokenPreview = JSON.parse(text);
  const { search_indexes: indexes = [] } = made;
  const masked = memberText(text, 'data');
  return (
    <div class={isStale ? 'stale' : ''}>
      <h3>
        Id <span class="note">{ID_IS[made.id_is]}</span>
      </h3>
      <code>{made.id}</code>
      <h3>Masked</h3>
      {masked === undefined || made.mask === undefined ? (
        <p class="note">no mask: masked reads omit the data</p>
      ) : (
        <JsonView text={masked} />
      )}
      <h3>Found by</h3>
      {indexes.length === 0 ? (
        <p class="note">no search index</p>
      ) : (
        <Table
          caption="Search indexes and their values"
          rows={indexes.map((expression, at) => [
            <code key="expression">{expression}</code>,
            <code key="value">{made.search_values[at]}</code>,
          ])}
        />
      )}
      <h3>Fingerprint of</h3>
      <code>{made.fingerprinted}</code>
      <h3>Containers</h3>
      <Tags of={made.containers} />
      <SeenBy text={text} isDraft />
    </div>
  );
}
