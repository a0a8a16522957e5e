import { parseQuery } from '../../src/core/search/parse-query.ts';
import { isSameText, matchesQuery } from '../search-model.ts';
import { gains, mayDefine, mayWrite, transformFor } from './model-fuzz-access.ts';
import {
  type Command,
  type Expected,
  type Expires,
  fingerprintOf,
  isLive,
  iso,
  type ModelTenant,
  type ModelToken,
  monthOf,
  page,
  problem,
  type Step,
} from './model-fuzz-state.ts';
import {
  changedPart,
  DEFAULT_CONTAINER,
  DEFAULT_INDEXES,
  DEFAULT_MASK,
  dataFlaws,
  evaluate,
  isObject,
  maskedForm,
  mergePatch,
  type Plain,
  type PlainObject,
} from './model-fuzz-values.ts';

/** The operations on tokens (§4.1), single and in batches. */
export const STEPS = {
  createToken,
  previewToken,
  listTokens: (step) => filtered(step, listed),
  listTokensByCursor: (step) => filtered(step, listedByCursor),
  searchTokens: (step) => searched(step, listed),
  searchTokensByCursor: (step) => searched(step, listedByCursor),
  getToken,
  updateToken,
  deleteToken,
  tokenize,
  detokenize,
} satisfies Partial<Record<Command['operation'], (step: Step) => Expected>>;

type Definition = Pick<
  ModelToken,
  'type' | 'data' | 'mask' | 'fingerprint_expression' | 'search_indexes' | 'metadata' | 'containers'
>;

const DEFAULT_FINGERPRINT = '{{ data | stringify }}';
const UUID_7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

function createToken(step: Step): Expected {
  const { command, caller, tenant, now, actual } = step;
  const body = command.body ?? {};
  const type = String(body['type']);
  const wanted: Definition = {
    type,
    data: body['data'] ?? null,
    mask: body['mask'] ?? DEFAULT_MASK[type],
    fingerprint_expression: String(body['fingerprint_expression'] ?? DEFAULT_FINGERPRINT),
    search_indexes: (body['search_indexes'] ?? DEFAULT_INDEXES[type]) as readonly string[] | undefined,
    metadata: (body['metadata'] ?? undefined) as Definition['metadata'],
    containers: lowerCased((body['containers'] ?? [DEFAULT_CONTAINER[type] ?? '/']) as readonly string[]),
  };
  const made = derived(wanted);
  if ('paths' in made) return made;
  const given = body['id'] ?? undefined;
  const assigned = String(actual['id']);
  const id = given === undefined ? assigned : String(evaluate(String(given), { data: wanted.data, metadata: {} }));
  if (!mayWrite(caller, 'token:create', { id, containers: wanted.containers }))
    return problem(403, 'no_governing_rule');
  const original = deduplicates(body, tenant) ? oldest(step, type, made.printed) : undefined;
  if (original) {
    const transform = transformFor(caller, 'token:read', original);
    return {
      status: 201,
      body: transform ? showWritten(original, tenant, atMostMask(transform)) : named(original, tenant),
    };
  }
  if (tenant.takenIds.has(id)) return problem(409, 'token_id_taken');
  const expires = readExpires(body['expires_at']);
  const token: ModelToken = {
    ...wanted,
    ...made,
    id: given === undefined && !UUID_7.test(id) ? 'a version 7 UUID' : id,
    created_by: caller.id,
    created_at: now,
    fingerprint: fingerprintOf(tenant, type, made.printed, actual),
    expires,
  };
  tenant.tokens.set(id, token);
  tenant.takenIds.add(id);
  tenant.lastCreated.set(type, Math.max(now, tenant.lastCreated.get(type) ?? now));
  tenant.active.add(`${monthOf(now)}/${id}`);
  return { status: 201, body: showWritten(token, tenant, atMostMask(transformFor(caller, 'token:create', token))) };
}

/** Answers as Create Token does in a tenant without tokens. */
function previewToken(step: Step): Expected {
  const { command, tenant, actual } = step;
  const empty = { tokens: new Map(), takenIds: new Set<string>(), lastCreated: new Map(), active: new Set<string>() };
  const own = { ...tenant, ...empty, fingerprints: new Map() };
  const created = createToken({ ...step, tenant: own });
  if (created.status !== 201) return created;
  const { fingerprint: _, ...shown } = created.body as PlainObject;
  const given = command.body?.['id'];
  const [token] = own.tokens.values();
  const body: PlainObject = {
    ...shown,
    id_is: given === undefined || given === null ? 'assigned' : String(given).includes('{{') ? 'sample' : 'given',
    fingerprinted: token.printed.slice(token.printed.indexOf(' ') + 1),
    search_values: (token.search_indexes ?? []).map((each: string) => textOf(evaluate(each, token) ?? null)),
  };
  return { status: 200, body: 'fingerprint' in actual ? shown : body };
}

/** Answers as Create Token does for each body in order. Stores none of them when one fails. */
function tokenize(step: Step): Expected {
  const { command, tenant, actual } = step;
  const { tokens, takenIds, lastCreated, active, fingerprints } = tenant;
  const before = structuredClone({ tokens, takenIds, lastCreated, active, fingerprints });
  const answers = Object.entries(command.body ?? {}).map(([name, body]) => {
    const made = (actual[name] ?? { id: `none ${name}` }) as PlainObject;
    return [name, createToken({ ...step, command: { ...command, body: body as PlainObject }, actual: made })] as const;
  });
  const worst = [400, 403, 409].find((status) => answers.some(([, answer]) => answer.status === status));
  if (worst === undefined) {
    return { status: 201, body: Object.fromEntries(answers.map(([name, { body }]) => [name, body ?? null])) };
  }
  Object.assign(tenant, before);
  const failed = answers.filter(([, { status }]) => status === worst);
  const paths = failed.flatMap(([name, answer]) => answer.paths?.map((path) => `${name}.${path}`) ?? []);
  return problem(worst, failed[0]?.[1].code ?? '', paths.length > 0 ? paths : undefined);
}

/** Answers Detokenize. A missing token has the same result as a token that shows nothing. */
function detokenize(step: Step): Expected {
  const { command, caller, tenant, now } = step;
  const wrong: string[] = [];
  const used: string[] = [];
  const dataOf = (id: string, name: string): Plain => {
    const token = find({ ...step, command: { ...command, id } });
    const transform = token && transformFor(caller, 'token:use', token);
    const data = transform === 'reveal' ? token?.data : transform === 'mask' ? token?.masked : undefined;
    if (data === undefined) wrong.push(name);
    else used.push(id);
    return data ?? null;
  };
  const body = Object.entries(command.body ?? {}).map(([name, text]) => {
    if (typeof text !== 'string') return [name, text] as const;
    const parts = text
      .split(/\{\{([^|}]*)[^}]*\}\}/)
      .map((part, place) => (place % 2 ? dataOf(part.trim(), name) : part));
    return [name, parts.length === 3 ? (parts[1] ?? null) : parts.map(textOf).join('')] as const;
  });
  if (wrong.length > 0) return problem(400, 'invalid_request', wrong);
  for (const id of used) tenant.active.add(`${monthOf(now)}/${id}`);
  return { status: 200, body: Object.fromEntries(body) };
}

function getToken(step: Step): Expected {
  const { caller, tenant, now, command } = step;
  const token = find(step);
  if (!token) return problem(404, 'token_not_found');
  const transform = transformFor(caller, 'token:read', token);
  if (!transform) return problem(403, 'no_governing_rule');
  tenant.active.add(`${monthOf(now)}/${token.id}`);
  return { status: 200, body: show(token, tenant, atMost(transform, new Map(command.query).get('transform'))) };
}

const STRENGTHS: readonly string[] = ['redact', 'mask', 'reveal'];

function atMost(transform: string, most: Plain | undefined): string {
  const rank = Math.min(...[transform, most ?? 'reveal'].map((each) => STRENGTHS.indexOf(String(each))));
  return STRENGTHS[rank] ?? 'redact';
}

type Answer = (step: Step, filter: Filter, asked: PlainObject) => Expected;
const filtered = (step: Step, answer: Answer) =>
  answer(step, filteredBy(step.command.query), Object.fromEntries(step.command.query));
const searched = (step: Step, answer: Answer) => answer(step, searchedBy(step), step.command.body ?? {});

type Filter = (token: ModelToken) => boolean;

function filteredBy(query: Command['query']): Filter {
  const of = (name: string) => query.filter(([each]) => each === name).map(([, value]) => value);
  const [ids, types, prints] = [of('id'), of('type'), of('fingerprint')];
  const containers = lowerCased(of('container'));
  const pairs = query.flatMap(([name, value]) => {
    const key = /^metadata(?:\.(.*)|\[(.*)\])$/.exec(name);
    return key ? [[key[1] ?? key[2] ?? '', value] as const] : [];
  });
  const wanted = new Map(pairs.reverse());
  return (token) =>
    (ids.length === 0 || ids.includes(token.id)) &&
    (types.length === 0 || types.includes(token.type)) &&
    (prints.length === 0 || prints.includes(token.fingerprint)) &&
    (containers.length === 0 || token.containers.some((own) => containers.some((path) => own.startsWith(path)))) &&
    [...wanted].every(([key, value]) => isSameText(token.metadata?.[key], value));
}

/** Returns a filter for the tokens that match the query, whose parser has tests of its own. */
function searchedBy({ command, caller, model }: Step): Filter {
  const query = parseQuery(String(command.body?.['query']));
  return (token) =>
    (model.ignores === 'rules' || transformFor(caller, 'token:search', token) !== undefined) &&
    matchesQuery(query, {
      ...token,
      metadata: token.metadata ?? {},
      searchValues: (token.search_indexes ?? []).flatMap((expression, at) =>
        token.failed.includes(`search_indexes.${at}`)
          ? []
          : [String(evaluate(expression, { data: token.data, metadata: {} }))],
      ),
      expires_at: token.expires?.instant,
    });
}

function visibleTokens({ caller, tenant, now, model }: Step, filter: Filter): readonly ModelToken[] {
  return [...tenant.tokens.values()].filter(
    (token) =>
      isLive(model, token.expires?.instant, now) &&
      (model.ignores === 'rules' || transformFor(caller, 'token:read', token)) &&
      filter(token),
  );
}

function showing({ caller, tenant }: Step, most: Plain | undefined) {
  return (token: ModelToken) =>
    show(token, tenant, atMost(transformFor(caller, 'token:read', token) ?? 'redact', most));
}

function listed(step: Step, filter: Filter, asked: PlainObject): Expected {
  const { tenant, now } = step;
  const { body, items } = page(asked, visibleTokens(step, filter), showing(step, asked['transform']));
  for (const { id } of items) tenant.active.add(`${monthOf(now)}/${id}`);
  return { status: 200, body };
}

/** Answers with the first page. Takes the cursor from the vault. */
function listedByCursor(step: Step, filter: Filter, asked: PlainObject): Expected {
  const { tenant, now, actual } = step;
  const visible = visibleTokens(step, filter);
  const { body, items } = page({ size: asked['size'] ?? 20 }, visible, showing(step, asked['transform']));
  for (const { id } of items) tenant.active.add(`${monthOf(now)}/${id}`);
  const { next } = (actual['pagination'] ?? {}) as { readonly next?: Plain };
  const isLast = items.length === visible.length;
  const pagination = { page_size: Number(asked['size'] ?? 20), ...(!isLast && { next: next ?? 'a cursor' }) };
  return { status: 200, body: { pagination, data: body['data'] ?? [] } };
}

function updateToken(step: Step): Expected {
  const { command, caller, tenant, now, actual } = step;
  const body = command.body ?? {};
  const token = find(step);
  if (body['data'] === null) return problem(400, 'invalid_request', ['data']);
  if (!token) return problem(404, 'token_not_found');
  const replaced = <T>(name: string, old: T, fallback: T) =>
    body[name] === undefined ? old : ((body[name] ?? fallback) as T);
  const fallback: readonly string[] = [DEFAULT_CONTAINER[token.type] ?? '/'];
  const merged = <T>(name: string, old: Plain | undefined) =>
    (body[name] === undefined ? old : (mergePatch(old, body[name]) ?? undefined)) as T;
  const isMasked = transformFor(caller, 'token:read', token) === 'mask';
  const sent = body['data'];
  const patch = isMasked && sent !== undefined ? changedPart(sent, token.masked) : sent;
  const wanted: Definition = {
    type: token.type,
    data: patch === undefined ? token.data : mergePatch(token.data, patch),
    mask: merged('mask', token.mask),
    metadata: merged('metadata', token.metadata),
    containers: lowerCased(replaced('containers', token.containers, fallback)),
    search_indexes: replaced<Definition['search_indexes']>('search_indexes', token.search_indexes, undefined),
    fingerprint_expression: replaced('fingerprint_expression', token.fingerprint_expression, DEFAULT_FINGERPRINT),
  };
  const moved = { id: token.id, containers: wanted.containers };
  for (const reached of [token, moved]) {
    if (!mayWrite(caller, 'token:update', reached)) return problem(403, 'no_governing_rule');
  }
  const sets = ['mask', 'search_indexes', 'fingerprint_expression'].some((name) => body[name] !== undefined);
  if ((sets && !mayDefine(caller, token)) || gains(caller, token, moved)) return problem(403, 'no_governing_rule');
  const reads = transformFor(caller, 'token:read', moved) !== undefined;
  if (Object.keys(wanted.metadata ?? {}).length > 50) return problem(400, 'invalid_request', ['metadata']);
  const isSet = (path: string) => body[path.split('.')[0] ?? ''] !== undefined;
  const made = derived(wanted, {
    mayFail: (path) => !reads || (token.failed.includes(path) && !isSet(path)),
    orderOf: (path) => (isSet(path) ? 1 : token.failed.includes(path) ? 2 : 0),
  });
  if ('paths' in made) return made;
  const fingerprint = fingerprintOf(tenant, token.type, made.printed, actual);
  const expires = body['expires_at'] === undefined ? token.expires : readExpires(body['expires_at']);
  const isMade = deduplicates(body, tenant) && token.printed !== made.printed;
  Object.assign(token, wanted, made, { fingerprint, expires, modified_by: caller.id, modified_at: now });
  if (!reads) return { status: 200, body: unreadForm(token, tenant, deduplicates(body, tenant)) };
  const original = isMade ? oldest(step, token.type, made.printed, token.id) : undefined;
  if (original && !transformFor(caller, 'token:read', original)) {
    return { status: 200, body: show({ ...token, metadata: undefined }, tenant, 'redact') };
  }
  return { status: 200, body: showWritten(token, tenant, transformFor(caller, 'token:update', token)) };
}

function deleteToken(step: Step): Expected {
  const token = find(step);
  if (!token) return problem(404, 'token_not_found');
  if (!mayWrite(step.caller, 'token:delete', token)) return problem(403, 'no_governing_rule');
  step.tenant.tokens.delete(token.id);
  return { status: 204 };
}

function find({ command, tenant, now, model }: Step): ModelToken | undefined {
  const token = tenant.tokens.get(command.id ?? '');
  return token && isLive(model, token.expires?.instant, now) ? token : undefined;
}

const lowerCased = (containers: readonly string[]) => [...new Set(containers.map((each) => each.toLowerCase()))];
const textOf = (value: Plain) => (typeof value === 'string' ? value : JSON.stringify(value));
/** Returns the JSON text with sorted members. The fuzz writes no integer-like names. */
const canonical = (value: Plain) =>
  JSON.stringify(value, (_, each: Plain) => (isObject(each) ? Object.fromEntries(Object.entries(each).sort()) : each));
const atMostMask = (transform: string | undefined) => (transform === 'redact' ? 'redact' : 'mask');

/** How a patch treats expressions: which may fail, and the order in which they are evaluated (decisions §6). */
interface Tolerance {
  readonly mayFail: (path: string) => boolean;
  readonly orderOf: (path: string) => number;
}

/** Returns the values that a write computes, or its flaws. An expression that may fail has no result then. */
function derived(
  wanted: Definition,
  { mayFail, orderOf }: Tolerance = { mayFail: () => false, orderOf: () => 0 },
): Pick<ModelToken, 'masked' | 'printed' | 'failed'> | Required<Pick<Expected, 'status' | 'code' | 'paths'>> {
  const wrong = (paths: readonly string[]) => ({ status: 400, code: 'invalid_request', paths });
  const scope = { data: wanted.data, metadata: wanted.metadata ?? {} };
  const flaws = dataFlaws(wanted.type, wanted.data);
  if (flaws.length > 0) return wrong(flaws);
  const { mask, fingerprint_expression, search_indexes = [] } = wanted;
  const masked = mask === undefined ? undefined : maskedForm(mask, scope);
  const results: readonly (readonly [path: string, isBroken: boolean])[] = [
    ['mask', masked === 'broken'],
    ['fingerprint_expression', [undefined, null].includes(evaluate(fingerprint_expression, scope) as null)],
    ...search_indexes.map((each, at) => {
      const value = evaluate(each, scope);
      return [`search_indexes.${at}`, value === undefined || value === null || value === ''] as const;
    }),
  ];
  const failed = results
    .filter(([, isBroken]) => isBroken)
    .map(([path]) => path)
    .sort((a, b) => orderOf(a) - orderOf(b));
  const flaw = failed.find((path) => !mayFail(path));
  if (flaw !== undefined) return wrong([flaw]);
  const expression = failed.includes('fingerprint_expression') ? DEFAULT_FINGERPRINT : fingerprint_expression;
  return {
    masked: masked === 'broken' ? undefined : masked,
    printed: /^\{\{ *data *\| *stringify *\}\}$/.test(expression)
      ? `data ${canonical(wanted.data)}`
      : `expression ${textOf(evaluate(expression, scope) ?? null)}`,
    failed,
  };
}

function deduplicates(body: PlainObject, { settings }: ModelTenant): boolean {
  return (body['deduplicate_token'] ?? settings['deduplicate_tokens'] === 'true') === true;
}

function oldest({ tenant, now, model }: Step, type: string, printed: string, except?: string): ModelToken | undefined {
  const matches = [...tenant.tokens.values()].filter(
    (each) =>
      each.type === type && each.printed === printed && each.id !== except && isLive(model, each.expires?.instant, now),
  );
  return matches.sort((a, b) => a.created_at - b.created_at || (a.id < b.id ? -1 : 1))[0];
}

/** Parses the formats that the generator writes: `M/D/YYYY`, and ISO 8601 with an offset or `Z`. */
function readExpires(sent: Plain | undefined): Expires | undefined {
  if (typeof sent !== 'string') return undefined;
  const short = /^(\d+)\/(\d+)\/(\d+)$/.exec(sent);
  const instant = short ? Date.UTC(Number(short[3]), Number(short[1]) - 1, Number(short[2])) : Date.parse(sent);
  const offset = /([+-]\d{2}):00$/.exec(sent)?.[1] ?? '+00';
  return { instant, text: iso(instant + Number(offset) * 3_600_000).replace('+00:00', `${offset}:00`) };
}

function named({ id, type, containers, fingerprint }: ModelToken, tenant: ModelTenant): PlainObject {
  return { id, type, tenant_id: tenant.id, containers, fingerprint };
}

/** Returns what an update shows a caller that does not read the token (decisions §6). */
function unreadForm(token: ModelToken, tenant: ModelTenant, isDeduplicated: boolean): PlainObject {
  const whole = showWritten(token, tenant, 'redact');
  const { fingerprint: _, metadata, mask, search_indexes, fingerprint_expression, ...shown } = whole;
  if (isDeduplicated) return shown;
  return JSON.parse(JSON.stringify({ ...shown, metadata, mask, search_indexes, fingerprint_expression }));
}

/** Returns what get and list show (§2.1). */
function show(token: ModelToken, tenant: ModelTenant, transform: string | undefined): PlainObject {
  const shown = transform === 'reveal' ? token.data : transform === 'mask' ? token.masked : undefined;
  return {
    ...named(token, tenant),
    created_by: token.created_by,
    created_at: iso(token.created_at),
    ...(shown !== undefined && { data: shown }),
    ...(token.metadata && { metadata: token.metadata }),
    ...(token.modified_by !== undefined && { modified_by: token.modified_by }),
    ...(token.modified_at !== undefined && { modified_at: iso(token.modified_at) }),
    ...(token.expires && { expires_at: token.expires.text }),
  };
}

/** Returns what create and update show (§2.1). */
function showWritten(token: ModelToken, tenant: ModelTenant, transform: string | undefined): PlainObject {
  return {
    ...show(token, tenant, transform),
    fingerprint_expression: token.fingerprint_expression,
    ...(token.mask !== undefined && { mask: token.mask }),
    ...(token.search_indexes && { search_indexes: token.search_indexes }),
  };
}
