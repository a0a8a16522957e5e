import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import { readTable, readVectors } from '../vectors/read-vectors.ts';

/** A parser, its seed inputs, and the properties that must hold for every text. */
export interface Subject {
  readonly name: string;
  readonly seeds: readonly string[];
  readonly dictionary: readonly string[];
  /** Rejects with the violated property. `random` chooses where to cut the text into pieces. */
  try(text: string, random: () => number): Promise<void>;
}

const TRANSFER = 'cli/commands/transfer';
/** Separates an expression from its data in a corpus text. */
const DATA = '\u0001';
const MAX_DEPTH = 64;
const CSV = {
  type: 'token',
  map: ['data=data', 'id=id', 'metadata.a=a'],
  isRevealed: false,
  onUnused: () => undefined,
} as const;

const nameOf = (error: unknown) => (error instanceof Error ? error.name : '');

function hold(holds: boolean, what: string): void {
  if (!holds) throw new Error(what);
}

/** Returns the value, or an error of the defined type. Rejects with any other error. */
async function attempt<T>(defined: string, act: () => T | Promise<T>): Promise<{ value?: T; error?: Error }> {
  try {
    return { value: await act() };
  } catch (error) {
    if (error instanceof Error && nameOf(error) === defined) return { error };
    throw new Error(`throws ${String(error)}`, { cause: error });
  }
}

const isTrailing = (code: number) => code >= 0xdc00 && code <= 0xdfff;

/** Yields a text or its bytes in pieces. Cuts a text between characters, as a decoder does. */
async function* pieces<T extends string | Uint8Array>(whole: T, random: () => number): AsyncGenerator<T> {
  for (let at = 0; at < whole.length; ) {
    let end = at + 1 + Math.floor(random() * 40);
    if (typeof whole === 'string' && isTrailing(whole.charCodeAt(end))) end += 1;
    yield whole.slice(at, end) as T;
    at = end;
  }
}

async function collect<T>(items: AsyncIterable<T>): Promise<{ readonly found: readonly T[]; readonly fault?: string }> {
  const found: T[] = [];
  const { error } = await attempt('Fault', async () => {
    for await (const item of items) found.push(item);
  });
  return error === undefined ? { found } : { found, fault: error.message };
}

function builtIn(text: string): { readonly value?: unknown; readonly refused: boolean } {
  try {
    return { value: JSON.parse(text), refused: false };
  } catch {
    return { refused: true };
  }
}

/** Loads the parsers below `root/src`, from the product or from a copy with a bug. */
export async function loadSubjects(root: string): Promise<readonly Subject[]> {
  const load = <Loaded>(name: string): Promise<Loaded> => import(pathToFileURL(join(root, 'src', `${name}.ts`)).href);
  const { parseJson } = await load<typeof import('../../src/core/json/parse.ts')>('core/json/parse');
  const { stringifyJson } = await load<typeof import('../../src/core/json/stringify.ts')>('core/json/stringify');
  const expressions =
    await load<typeof import('../../src/core/expressions/expressions.ts')>('core/expressions/expressions');
  const limits = await load<typeof import('../../src/core/expressions/limits.ts')>('core/expressions/limits');
  const csv = await load<typeof import('../../src/cli/commands/transfer/csv-rows.ts')>(`${TRANSFER}/csv-rows`);
  const input = await load<typeof import('../../src/cli/commands/transfer/input-file.ts')>(`${TRANSFER}/input-file`);
  const rows = await load<typeof import('../../src/cli/commands/transfer/import-row.ts')>(`${TRANSFER}/import-row`);

  const vectors = readVectors<Record<'accepted' | 'refused', readonly { readonly text: string }[]>>('json');
  const texts = [...vectors.accepted, ...vectors.refused].map(({ text }) => text).filter((text) => text.length < 400);
  const cases = readTable('expressions').map(({ fields: [source = '', data = ''] }) => `${source}${DATA}${data}`);

  return [
    {
      name: 'json',
      seeds: texts,
      dictionary: ['{"a":', '[1,', '"\\u0041"', '1e-5', '-0.0', 'true', 'null', '}', ']', ',', ':', '"__proto__"'],
      async try(text) {
        const own = await attempt('JsonSyntaxError', () => parseJson(text, { maxDepth: MAX_DEPTH }));
        const other = builtIn(text);
        if (own.error !== undefined) {
          const isOwnRule = 'kind' in own.error && own.error.kind !== 'syntax';
          return hold(isOwnRule || other.refused, 'refuses what is JSON');
        }
        hold(!other.refused, 'accepts what is no JSON');
        const printed = stringifyJson(own.value ?? null);
        hold(stringifyJson(parseJson(printed)) === printed, 'prints what it does not read back');
        hold(isDeepStrictEqual(JSON.parse(printed), other.value), 'reads another value');
      },
    },
    {
      name: 'template',
      seeds: cases,
      dictionary: [
        ...[
          '{{ data',
          ' }}',
          ' | ',
          '.a',
          '[0]',
          "['a']",
          ': 1',
          ', ',
          "'x'",
          'reveal_last: 4',
          "json: '$.a'",
          '\\',
          DATA,
        ],
      ],
      async try(text) {
        const [source = '', dataText = ''] = text.split(DATA);
        const data = builtIn(dataText).refused ? 'text' : await attempt('JsonSyntaxError', () => parseJson(dataText));
        const scope = { data: typeof data === 'string' ? data : (data.value ?? null), metadata: { k: 'v' } };
        await expressions.loadFilters(source);
        const evaluate = () =>
          attempt('ExpressionError', () =>
            expressions.evaluateExpression(source, scope, { work: limits.budgetFor(stringifyJson(scope.data)) }),
          );
        const first = await evaluate();
        const { error: unfit } = await attempt('ExpressionError', () => expressions.checkExpressions(source, true));
        hold(unfit === undefined || first.error !== undefined, 'evaluates what the check refuses');
        const again = await evaluate();
        hold(first.error?.message === again.error?.message, 'fails once only');
        if (first.error !== undefined) return;
        const printed = stringifyJson(first.value ?? null);
        hold(stringifyJson(again.value ?? null) === printed, 'gives two values');
        hold(stringifyJson(parseJson(printed)) === printed, 'gives what is no JSON');
      },
    },
    {
      name: 'csv',
      seeds: [
        'id,data,a\r\none,"x ""y"", z",b\r\n',
        'data,id,a\n1,2,3\n\n"4\n5",6,7',
        'a;b\rc,"d',
        ',\n,',
        '"",""\n""',
      ],
      dictionary: ['"', '""', ',', '\r\n', '\n', '\r', 'data', 'id', '\n"', '",'],
      async try(raw, random) {
        const text = raw.toWellFormed();
        const whole = await collect(csv.readCsv(pieces(text, () => 1e9)));
        const cut = await collect(csv.readCsv(pieces(text, random)));
        hold(isDeepStrictEqual(cut, whole), 'depends on how the text arrives');
        const quoted = whole.found.map(({ cells }) => cells.map((cell) => `"${cell.replaceAll('"', '""')}"`).join());
        const back = await collect(csv.readCsv(pieces(quoted.join('\n'), random)));
        const cells = (records: typeof whole) => records.found.map((record) => record.cells);
        hold(isDeepStrictEqual(cells(back), cells(whole)), 'reads other cells when all are quoted');
        const bodies = await collect(csv.csvRows(csv.readCsv(pieces(text, random)), CSV));
        for (const { body } of bodies.found) hold(!builtIn(body).refused, 'makes a body that is no JSON');
      },
    },
    {
      name: 'ndjson',
      seeds: texts.map((text) => `{"id":"one","data":${text}}\n${text}\r\n\n`),
      dictionary: ['\n', '\r\n', '{"id":"', '"mask":null', '"}', '{{', '\n\n', ' '],
      async try(text, random) {
        const bytes = Buffer.from(text);
        const read = (cut: () => number) => collect(input.readLines(input.decodePieces(pieces(bytes, cut))));
        const whole = await read(() => 1e9);
        hold(isDeepStrictEqual(await read(random), whole), 'depends on how the bytes arrive');
        hold(whole.fault === undefined, 'refuses text');
        const lines = bytes
          .toString()
          .replace(/^\ufeff/, '')
          .split('\n')
          .map((line) => line.trim());
        const wanted = lines.flatMap((body, index) => (body === '' ? [] : [{ line: index + 1, body }]));
        hold(isDeepStrictEqual(whole.found, wanted), 'gives other lines');
        for (const { body } of whole.found) {
          const { id, withoutMask } = rows.factsOf(body);
          const { value } = builtIn(body);
          const named = typeof value === 'object' && value !== null && 'id' in value ? value.id : undefined;
          hold(id === undefined || id === named, 'finds another id');
          const mask = typeof value === 'object' && value !== null && 'mask' in value ? value.mask : undefined;
          hold(withoutMask === (mask === null), 'finds another mask');
        }
        const broken = Buffer.concat([bytes, Uint8Array.of(0xc3, 0x28)]);
        const { fault } = await collect(input.readLines(input.decodePieces(pieces(broken, random))));
        hold(fault !== undefined, 'takes bytes that are no UTF-8');
      },
    },
  ];
}
