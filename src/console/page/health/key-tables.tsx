import { AsCommand } from '../parts/as-command.tsx';
import { wholeNumber } from '../parts/numbers.ts';
import { Time } from '../parts/pieces.tsx';

/** The output of `vault keys list` and `vault keys list --tenants`. */
export interface KeyFacts {
  readonly generation: number;
  readonly slots: readonly {
    readonly slot: number;
    readonly label?: string;
    readonly kind: 'key_file' | 'passphrase';
    readonly created_at: string;
    readonly current: boolean;
  }[];
  readonly tenants: readonly {
    readonly tenant_id: string;
    readonly keys: readonly { readonly key_id: number; readonly purpose: string; readonly created_at: string }[];
    readonly stale: number;
  }[];
}

interface KeysOptions {
  readonly of: KeyFacts;
}

/** Shows the key slots of the file and the keys of each tenant. */
export function KeyTables({ of: { generation, slots, tenants } }: KeysOptions) {
  return (
    <>
      <table>
        <caption>
          Ways to open the file <span class="note">master key {generation}</span>
        </caption>
        <thead>
          <tr>
            <th scope="col">Slot</th>
            <th scope="col">Label</th>
            <th scope="col">Kind</th>
            <th scope="col">Created</th>
          </tr>
        </thead>
        <tbody>
          {slots.map(({ slot, label, kind, created_at, current }) => (
            <tr key={slot}>
              <th scope="row">{slot}</th>
              <td>{label}</td>
              <td>
                {kind.replace('_', ' ')} {current && <span class="tag">current</span>}
              </td>
              <td>
                <Time at={created_at} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {tenants.map(({ tenant_id, keys, stale }) => (
        <table key={tenant_id}>
          <caption>
            Keys of tenant <code>{tenant_id}</code>{' '}
            <span class="note">
              {wholeNumber(stale)} {stale === 1 ? 'record' : 'records'} left to reseal
            </span>
          </caption>
          <thead>
            <tr>
              <th scope="col">Key</th>
              <th scope="col">Purpose</th>
              <th scope="col">Created</th>
            </tr>
          </thead>
          <tbody>
            {keys.map(({ key_id, purpose, created_at }) => (
              <tr key={key_id}>
                <th scope="row">{key_id}</th>
                <td>{purpose}</td>
                <td>
                  <Time at={created_at} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      ))}
      <AsCommand of={{ text: 'vault keys list --tenants', needs: 'file' }} />
    </>
  );
}
