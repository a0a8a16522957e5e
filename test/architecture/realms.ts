import { codeOf, type Rule } from './rules.ts';

const TIMERS = 'src/core/timers.ts';
const GLOBAL_TIMER = /(?<![\w$.])(?:set|clear)(?:Timeout|Interval|Immediate)\b/g;
const FAKEABLE =
  /\bglobalThis\.(?:set|clear)\w+|\bqueueMicrotask\b|\bprocess\.(?:nextTick|hrtime)\b|\bperformance\b|(?<!\w)Date\.\w+|\bnew Date\(|\bAbortSignal\.timeout\b/;
const MODULES = /'(?:node:)?(?:timers|timers\/promises|perf_hooks)'/;
const IMPORTED = /^import \{([^}]*)\} from '[./]+(?:core\/)?timers\.ts';$/m;

const isOfProduct = (file: string): boolean => file.startsWith('src/') && !file.startsWith('src/console/page/');

/**
 * A test may replace the global timers and `Date`, before or after it loads the product. The product then waits for
 * ever, so it takes its timers and the time of the machine from one module.
 */
export const timersComeFromOneModule: Rule = (sources) =>
  [...sources].flatMap(([file, text]) => {
    if (!isOfProduct(file) || file === TIMERS) return [];
    const imported = new Set(
      text
        .match(IMPORTED)?.[1]
        ?.split(',')
        .map((name) => name.trim()),
    );
    const code = codeOf(text)
      .replace(/^import [^;]*;$/gm, '')
      .replace(/\btypeof \w+/g, '');
    const bare = [...code.matchAll(GLOBAL_TIMER)].map(([name]) => name).find((name) => !imported.has(name));
    const found = text.match(MODULES)?.[0] ?? code.match(FAKEABLE)?.[0] ?? bare;
    return found === undefined ? [] : [`${file}: ${found}; use ${TIMERS}`];
  });

const FOREIGN =
  /\binstanceof (?:(?:Type|Range|Syntax|Aggregate)?Error|Uint8Array|Buffer|(?:Shared)?ArrayBuffer|DataView|AbortSignal|Promise|Date|Map|Set|RegExp|Object|Array|URL|DOMException)\b/;

/**
 * A test runner gives each test file a realm of its own. Errors and bytes of Node, of a driver and of the test are then
 * no instances of the classes that the product sees, so it reads their members instead. Only own classes are safe.
 */
export const valuesComeFromAnyRealm: Rule = (sources) =>
  [...sources].flatMap(([file, text]) => {
    const found = isOfProduct(file) ? codeOf(text).match(FOREIGN)?.[0] : undefined;
    return found === undefined ? [] : [`${file}: ${found}; use src/core/fault.ts or bytes.ts`];
  });
