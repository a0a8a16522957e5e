import { PERMISSIONS, type Permission, type PermissionRow } from '../../../contract/permissions.ts';
import { type DraftState, permissionsOf } from './draft-application.ts';

interface PlainOptions {
  readonly draft: DraftState;
  readonly change: (part: Partial<DraftState>) => void;
}

/** Shows the choice of plain permissions that the draft's type may hold. */
export function PlainChoice({ draft, change }: PlainOptions) {
  const { type, permissions, can_create_expiring_applications } = draft;
  const offered = permissionsOf(type);
  const toggle = (permission: Permission) =>
    change({ permissions: offered.filter((each) => permissions.includes(each) !== (each === permission)) });
  return (
    <fieldset class="plain-choice">
      <legend>Plain permissions{type !== 'management' && ', on every token'}</legend>
      {offered.map((permission) => {
        const { allows, warning }: PermissionRow = PERMISSIONS[permission];
        return (
          <label key={permission}>
            <input type="checkbox" checked={permissions.includes(permission)} onChange={() => toggle(permission)} />{' '}
            <code>{permission}</code> <span class={warning ? 'warning' : 'note'}>{allows}</span>
          </label>
        );
      })}
      {type === 'private' && (
        <label>
          <input
            type="checkbox"
            checked={can_create_expiring_applications}
            onChange={({ currentTarget: { checked } }) => change({ can_create_expiring_applications: checked })}
          />{' '}
          may create expiring applications <span class="note">within its own reach</span>
        </label>
      )}
    </fieldset>
  );
}
