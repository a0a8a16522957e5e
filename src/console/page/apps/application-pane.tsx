import type { Application } from '../../../client/create-client.ts';
import { PERMISSIONS, type Permission, type PermissionRow } from '../../../contract/permissions.ts';
import { isCreator, readersOf } from '../applications.ts';
import { reload } from '../loaded.ts';
import { showNewKey } from '../new-key.tsx';
import { AsCommand } from '../parts/as-command.tsx';
import { ConfirmButton } from '../parts/confirm-button.tsx';
import { KeyButton } from '../parts/controls.tsx';
import { Pane } from '../parts/pane.tsx';
import { CopyButton, RuleText, Time, TimeAfter, toast } from '../parts/pieces.tsx';
import { address, go, here } from '../route.ts';
import { aboutSession, isHeld } from '../session.ts';
import { vault } from '../vault.ts';
import { ApplicationKeys } from './application-keys.tsx';
import { Reached, useReach } from './reach.tsx';

interface PaneOptions {
  readonly application: Application;
  readonly all: readonly Application[];
}

/**
 * Shows an application with its rules in the order of priority, the tokens that each governs, and its plain
 * permissions.
 */
export function ApplicationPane({ application, all }: PaneOptions) {
  const { id, name, type, permissions, rules, created_at, modified_at, expires_at } = application;
  const reach = useReach(type === 'management' ? undefined : { application_id: id });
  const creator = all.find((each) => each.id === application.created_by);
  const mayChange = isHeld('application:update');
  const edit = () => go(here({ draft: 'edit' }));
  return (
    <Pane
      title={name}
      subject={id}
      closed={here({ app: undefined })}
      actions={
        <>
          {mayChange && <KeyButton name="Edit" shortcut="e" act={edit} />}
          {readersOf(all).includes(application) && (
            <a class="button" href={address('see-as', { app: id })}>
              See as
            </a>
          )}
          {mayChange && <EndKey how="regenerate" {...{ application, all }} />}
          {isHeld('application:delete') && <EndKey how="delete" {...{ application, all }} />}
          <AsCommand of={{ operation: 'getApplication', params: { id } }} />
        </>
      }
    >
      <p class="summary soft">
        {type} · created <Time at={created_at} /> {creator !== undefined && `by ${creator.name}`}
        <TimeAfter what="changed" at={modified_at} />
        <TimeAfter what="ends" at={expires_at} />
        <br />
        <code>{id}</code> <CopyButton text={id} />
      </p>
      {type !== 'management' && (
        <section>
          <h3>Rules: the first match governs</h3>
          {rules.length === 0 && <p class="note">No rules: the plain permissions govern every token.</p>}
          <ol class="rules">
            {rules
              .toSorted((a, b) => a.priority - b.priority)
              .map((rule) => (
                <li key={rule.priority}>
                  <Reached reach={reach} priority={rule.priority} />
                  <b>Rule {rule.priority}</b> <RuleText rule={rule} />
                  <br />
                  <code>{rule.permissions.join(' ')}</code>
                </li>
              ))}
          </ol>
        </section>
      )}
      <PlainPermissions permissions={permissions} />
      {application.can_create_expiring_applications && (
        <p class="note">May create expiring applications within its own reach.</p>
      )}
      <ApplicationKeys application={application} />
    </Pane>
  );
}

function PlainPermissions({ permissions }: { readonly permissions: readonly Permission[] }) {
  return (
    <section>
      <h3>Plain permissions, on every token</h3>
      {permissions.length === 0 && <p class="note">None.</p>}
      <ul class="log">
        {permissions.map((permission) => {
          const { warning }: PermissionRow = PERMISSIONS[permission];
          return (
            <li key={permission}>
              <code>{permission}</code>{' '}
              <span class={warning ? 'warning' : 'note'}>{PERMISSIONS[permission].allows}</span>
            </li>
          );
        })}
      </ul>
    </section>
  );
}

interface EndKeyOptions extends PaneOptions {
  readonly how: 'regenerate' | 'delete';
}

/**
 * Shows a button that asks for the application's name, then deletes it or replaces its keys. Both end its keys at once.
 */
function EndKey({ how, application, all }: EndKeyOptions) {
  const { id, name } = application;
  const isDelete = how === 'delete';
  const isOwn = aboutSession()?.identities.some((each) => each.id === id);
  const children = all.filter((each) => isCreator(application, each));

  async function confirm() {
    if (isDelete) {
      await vault.deleteApplication({ params: { id } });
      toast(`${name} deleted`);
      go(here({ app: undefined }), 'replace');
    } else showNewKey(await vault.regenerateApplicationKey({ params: { id } }));
    reload();
  }

  return (
    <ConfirmButton
      button={isDelete ? { class: 'danger', children: 'Delete' } : { children: 'Regenerate key' }}
      action={isDelete ? 'Delete the application' : 'Regenerate the key'}
      word={name}
      command={
        isDelete
          ? { operation: 'deleteApplication', params: { id } }
          : { operation: 'regenerateApplicationKey', params: { id }, more: '--key-out FILE' }
      }
      onConfirm={confirm}
    >
      <p>
        All API keys of <b>{name}</b> stop working at once.{' '}
        {isDelete ? 'Its tokens remain.' : 'The new key is shown once.'}
      </p>
      {isOwn && <p class="warning">This console uses one of them and will lose its access.</p>}
      {children.length > 0 && (
        <>
          <p>These expiring applications end, too:</p>
          <ul>
            {children.map((child) => (
              <li key={child.id}>
                {child.name}, ends <Time at={child.expires_at} /> at the latest
              </li>
            ))}
          </ul>
        </>
      )}
    </ConfirmButton>
  );
}
