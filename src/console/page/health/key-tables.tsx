import { AsCommand } from '../parts/as-command.tsx';
import { counted } from '../parts/numbers.ts';
import { Time } from '../parts/pieces.tsx';
import { Table } from '../parts/table.tsx';

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

/** Shows the key slots of the file and the keys of each tenant. */
export function KeyTables({ of: { generation, slots, tenants } }: { readonly of: KeyFacts }) {
  return (
    <>
      <Table
        caption={
          <>
            Ways to open the file <span class="note">master key {generation}</span>
          </>
        }
        hasTitle
        heads={['Slot', 'Label', 'Kind', 'Created']}
        rows={slots.map(({ slot, label, kind, created_at, current }) => [
          slot,
          label,
          <>
            {kind.replace('_', ' ')} {current && <span class="tag">current</span>}
          </>,
          <Time key="created" at={created_at} />,
        ])}
      />
      {tenants.map(({ tenant_id, keys, stale }) => (
        <Table
          key={tenant_id}
          caption={
            <>
              Keys of tenant <code>{tenant_id}</code>{' '}
              <span class="note">{counted(stale, 'record')} left to reseal</span>
            </>
          }
          hasTitle
          heads={['Key', 'Purpose', 'Created']}
          rows={keys.map(({ key_id, purpose, created_at }) => [
            key_id,
            purpose,
            <Time key="created" at={created_at} />,
          ])}
        />
      ))}
      <AsCommand of={{ text: 'vault keys list --tenants', needs: 'file' }} />
    </>
  );
}
