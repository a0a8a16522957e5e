import type { Application } from '../../../client/create-client.ts';
import {
  APPLICATION_TYPES,
  type ApplicationType,
  PERMISSIONS,
  type Permission,
  type PermissionRow,
} from '../../../contract/permissions.ts';
import { grantsOf } from '../applications.ts';
import { showNewKey } from '../new-key.tsx';
import { AsCommand } from '../parts/as-command.tsx';
import { Check } from '../parts/controls.tsx';
import { Draft, useDebounced, useDraft } from '../parts/draft.tsx';
import { errorsAt, FieldErrors, FormField } from '../parts/form-field.tsx';
import { toast, Wrong } from '../parts/pieces.tsx';
import { address, go } from '../route.ts';
import { vault } from '../vault.ts';
import { ChangedTokens, useNewestTokens } from './changed-tokens.tsx';
import { applicationDraft, asType, bodyOf, type DraftState, grantedBy, permissionsOf } from './draft-application.ts';
import { ReachTable, useReach } from './reach.tsx';
import { KnownContainers } from './rule-editor.tsx';
import { RulesEditor } from './rules-editor.tsx';

interface FormOptions {
  readonly all: readonly Application[];
  /** The application to edit. Absent for a new application. */
  readonly of?: Application;
}

/** Edits a new or existing application, and previews the tokens that it would reach. */
export function ApplicationForm({ all, of }: FormOptions) {
  const { draft, change, setDraft, refused, send } = useDraft(() => applicationDraft(of));
  const tokens = useNewestTokens();
  const { type } = draft;
  const settled = useDebounced(JSON.stringify(askedOf(draft, of)));
  const reach = useReach(JSON.parse(settled).asked);
  const errors = { ...reach.value?.errors, ...refused?.errors };

  async function save() {
    const body = bodyOf(draft);
    const saved = await (of === undefined
      ? vault.createApplication({ body: { ...body, type } })
      : vault.updateApplication({ params: { id: of.id }, body }));
    if (of === undefined) showNewKey(saved);
    toast(`${saved.name} saved`);
    go(address('applications', { app: saved.id }), 'replace');
  }

  return (
    <Draft
      title={of === undefined ? 'New application' : <>Edit {of.name}</>}
      action={of === undefined ? 'Create' : 'Save'}
      isReady={draft.name !== ''}
      onSubmit={() => send(save)}
      previewTitle="Tokens it would reach"
      preview={
        <>
          {type === 'management' ? (
            <p class="note">Management applications read no tokens.</p>
          ) : (
            <DraftReach {...{ all, draft, of, tokens }} parts={reach.value?.parts ?? []} error={reach.error} />
          )}
          <AsCommand
            of={
              of === undefined
                ? { operation: 'createApplication', body: 'FILE', more: '--key-out KEYFILE' }
                : { operation: 'updateApplication', params: { id: of.id }, body: 'FILE' }
            }
          />
        </>
      }
    >
      <Wrong>{refused?.message}</Wrong>
      <FormField
        name="name"
        value={draft.name}
        onInput={(name) => change({ name })}
        errors={errorsAt(errors, 'name')}
      />
      {of === undefined && (
        <FormField
          name="type"
          value={type}
          options={Object.keys(APPLICATION_TYPES) as ApplicationType[]}
          onInput={(chosen) => setDraft(asType(draft, chosen))}
          note={APPLICATION_TYPES[type]}
        />
      )}
      {of === undefined && type === 'expiring' && (
        <FormField
          name="expires_at"
          value={draft.expires_at}
          onInput={(expires_at) => change({ expires_at })}
          placeholder={new Date(Date.now() + 60_000).toISOString()}
          note="At most one day ahead. Default: one minute ahead."
          errors={errorsAt(errors, 'expires_at')}
          isCode
        />
      )}
      {type !== 'management' && <RulesEditor {...{ draft, errors, reach, change }} />}
      <PlainChoice {...{ draft, change }} />
      <FieldErrors id="permissions-errors" errors={isBlank(draft) ? [] : errorsAt(errors, 'permissions')} />
      <KnownContainers all={all} tokens={tokens} />
    </Draft>
  );
}

const isBlank = ({ permissions, rules }: DraftState): boolean => permissions.length + rules.length === 0;

/** Returns whether every rule has a container or complete conditions. */
const isComplete = ({ rules }: DraftState): boolean =>
  rules.every(
    ({ rule: { container, conditions = [] } }) => container !== '' && conditions.every(({ value }) => value !== ''),
  );

/**
 * Returns the request that counts the draft's tokens, or undefined for an incomplete draft. An existing application
 * keeps its type.
 */
function askedOf(draft: DraftState, of: Application | undefined) {
  const { type } = draft;
  if (type === 'management' || isBlank(draft) || !isComplete(draft)) return {};
  const granted = { permissions: [], rules: [], ...grantedBy(draft) };
  const asked =
    of === undefined ? { application: { type, ...granted } } : { application_id: of.id, application: granted };
  return { asked };
}

interface DraftReachOptions {
  readonly all: readonly Application[];
  readonly of: Application | undefined;
  readonly draft: DraftState;
  readonly tokens: ReturnType<typeof useNewestTokens>;
  readonly parts: Parameters<typeof ReachTable>[0]['parts'];
  readonly error: string | undefined;
}

function DraftReach({ all, of, draft, tokens, parts, error }: DraftReachOptions) {
  const { permissions, type } = draft;
  const rules = draft.rules.map(({ rule }) => rule);
  const drafted = { ...(of ?? { id: '', tenant_id: '', name: '' }), type, permissions, rules } as Application;
  return (
    <>
      <Wrong>{error}</Wrong>
      {isBlank(draft) && <p class="note">Add a rule, or a plain permission.</p>}
      {parts.length > 0 && <ReachTable parts={parts} />}
      <ChangedTokens tokens={tokens} before={of && grantsOf(of, all)} after={grantsOf(drafted, all)} />
    </>
  );
}

interface PlainOptions {
  readonly draft: DraftState;
  readonly change: (part: Partial<DraftState>) => void;
}

/** Shows the choice of plain permissions that the draft's type may hold. */
function PlainChoice({ draft, change }: PlainOptions) {
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
          <Check key={permission} isOn={permissions.includes(permission)} turn={() => toggle(permission)}>
            <code>{permission}</code> <span class={warning ? 'warning' : 'note'}>{allows}</span>
          </Check>
        );
      })}
      {type === 'private' && (
        <Check
          isOn={can_create_expiring_applications}
          turn={(isOn) => change({ can_create_expiring_applications: isOn })}
        >
          may create expiring applications <span class="note">within its own reach</span>
        </Check>
      )}
    </fieldset>
  );
}
