import type { Application } from '../../../client/create-client.ts';
import type { ExplainedGrant, ExplainedPermission } from '../../../contract/explanation.ts';
import { explainAccess } from '../../../core/access/explain-access.ts';
import { grantsOf } from '../applications.ts';
import { useLoaded } from '../loaded.ts';
import { AsCommand } from '../parts/as-command.tsx';
import { JsonView, memberText } from '../parts/json.tsx';
import { Pane } from '../parts/pane.tsx';
import { RuleText, Sees, Wrong } from '../parts/pieces.tsx';
import { Reveal } from '../parts/reveal.tsx';
import { Table } from '../parts/table.tsx';
import { address, here } from '../route.ts';
import { useOwnAccess } from '../tokens/own-access.tsx';
import { becauseOf } from '../tokens/seen-by.tsx';
import { loadMasked } from '../vault.ts';

const WRITES = ['token:update', 'token:delete', 'token:use', 'token:search'] as const;

interface WhyOptions {
  readonly application: Application;
  readonly all: readonly Application[];
  readonly id: string;
}

/** Shows a token as the application sees it, with the reason. */
export function Why({ application, all, id }: WhyOptions) {
  const token = useLoaded(id, (signal) => loadMasked(id, signal));
  return (
    <Pane
      title={
        <>
          <code>{id}</code> as {application.name}
        </>
      }
      subject={`${application.id} ${id}`}
      closed={here({ token: undefined })}
      isWide
      actions={
        <>
          <a class="button" href={address('tokens', { token: id })}>
            Open token
          </a>
          <a class="button" href={address('applications', { app: application.id })}>
            Open application
          </a>
          <AsCommand of={{ operation: 'explainAccess', body: { application_id: application.id, token_id: id } }} />
        </>
      }
    >
      <Wrong>{token.error}</Wrong>
      {token.value !== undefined && !token.isLoading && <Explained {...{ application, all, id }} text={token.value} />}
    </Pane>
  );
}

function Explained({ application, all, id, text }: WhyOptions & { readonly text: string }) {
  const { containers = [] }: { readonly containers?: readonly string[] } = JSON.parse(text);
  const grants = grantsOf(application, all);
  const facts = { id, containers };
  const read = explainAccess(grants, 'token:read', facts);
  const creator = all.find(({ id: each }) => each === application.created_by);
  const masked = memberText(text, 'data');
  return (
    <>
      <section class="forms">
        <Shown as="redact" gets={read} name={application.name}>
          no <code>data</code>
        </Shown>
        <Shown as="mask" gets={read} name={application.name}>
          {masked === undefined ? 'no mask: data is omitted' : <JsonView text={masked} />}
        </Shown>
        <Shown as="reveal" gets={read} name={application.name}>
          <OwnReveal id={id} />
        </Shown>
      </section>
      <section>
        <h3>Why</h3>
        <p class="verdict">{read.reason}</p>
        <div class="grants">
          <Grant title={application.name} of={application} explained={read.own} />
          {read.creator !== undefined && creator !== undefined && (
            <Grant title={`${creator.name}, its creator`} of={creator} explained={read.creator} />
          )}
        </div>
      </section>
      <section>
        <h3>Other permissions</h3>
        <Table
          caption="Other permissions on the token"
          heads={['Permission', 'On this token', 'Because of']}
          rows={WRITES.map((permission) => explainAccess(grants, permission, facts)).map((explained) => [
            <code key="permission">{explained.permission}</code>,
            <span key="allowed" class={`sees ${explained.allowed ? 'mask' : 'nothing'}`}>
              {explained.allowed ? 'yes' : 'no'}
            </span>,
            becauseOf(explained),
          ])}
        />
      </section>
    </>
  );
}

/** Shows the plaintext on request, if a key of the console reveals it. */
function OwnReveal({ id }: { readonly id: string }) {
  const { value, isLoading } = useOwnAccess(id);
  if (isLoading) return null;
  if (value?.own?.read.transform === 'reveal') return <Reveal id={id} as={value.own.key.n} />;
  return <>plaintext, which no key of this console reveals</>;
}

interface ShownOptions {
  readonly as: 'redact' | 'mask' | 'reveal';
  readonly gets: ExplainedPermission;
  readonly name: string;
  readonly children: preact.ComponentChildren;
}

function Shown({ as, gets, name, children }: ShownOptions) {
  const isIt = gets.transform === as;
  return (
    <div class={isIt ? 'form gets' : 'form'}>
      <p>
        <Sees as={as} /> {isIt && <b>{name} sees this</b>}
      </p>
      {children}
    </div>
  );
}

interface GrantOptions {
  readonly title: string;
  readonly of: Application;
  readonly explained: ExplainedGrant;
}

/** Shows the rules of an application in order, with its plain permission last. */
function Grant({ title, of, explained }: GrantOptions) {
  const isPlain = of.permissions.includes('token:read');
  return (
    <div>
      <h4>{title}</h4>
      <ol class="rules">
        {explained.rules.map(({ priority, outcome, reason }) => {
          const rule = of.rules.find((each) => each.priority === priority);
          return (
            <li key={priority} class={outcome}>
              <b>Rule {priority}</b> {rule && <RuleText rule={rule} />}
              <br />
              {outcome.replace('_', ' ')}: {reason}
            </li>
          );
        })}
        <li class={explained.source === 'permission' ? 'governs' : ''}>
          <b>Plain</b> <code>token:read</code> <Sees as="mask" />
          <br />
          {isPlain
            ? explained.source === 'permission'
              ? 'governs, because no rule does'
              : 'not reached: a rule governs'
            : 'not held'}
        </li>
      </ol>
    </div>
  );
}
