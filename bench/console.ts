import { mkdir } from 'node:fs/promises';
import { createServer } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import { type Browser, chromium, type Page } from 'playwright-core';
import { openUi, serve } from '../scripts/run-vault.ts';
import { type CaseResult, type Line, line, median } from './figures.ts';
import { openCopy } from './growth.ts';
import { portOf } from './own-process.ts';
import { withFolder } from './vault.ts';

const TARGETS = { paint_ms: 200, cold_ms: 500, cached_ms: 250, turn_ms: 300, livez_ms: 50, nodes: 1000, heap_mb: 10 };

/** The number of tokens, which each line states. */
type Stated = Readonly<Record<'tokens', number>>;
const TURNS = 10;
const LIVEZ_INTERVAL_MS = 10;

/** The start of the message in which a page reports its first row. */
const ROWS = 'rows after ';

/**
 * Runs in the page: reports the milliseconds from the start of the navigation to the first row. Reports to the console,
 * because polling the page would compete with it for the processor.
 */
function watchRows(start: string): void {
  const observer = new MutationObserver(() => {
    if (document.querySelector('tbody tr') === null) return;
    const ms = performance.now();
    observer.disconnect();
    console.log(start + ms);
  });
  observer.observe(document, { childList: true, subtree: true });
}

const firstPaint = (page: Page) =>
  page.evaluate(
    () =>
      new Promise<number>((resolve) => {
        new PerformanceObserver((list) => {
          for (const { name, startTime } of list.getEntries()) {
            if (name === 'first-contentful-paint') resolve(startTime);
          }
        }).observe({ type: 'paint', buffered: true });
      }),
  );

/** Returns the times of the first paint and the first rows, in a new profile and after a reload. */
async function openOnce(browser: Browser, link: string) {
  const page = await (await browser.newContext()).newPage();
  await page.addInitScript(watchRows, ROWS);
  const rows = async (open: () => Promise<unknown>) => {
    const reported = page.waitForEvent('console', (message) => message.text().startsWith(ROWS));
    await open();
    return Number((await reported).text().slice(ROWS.length));
  };
  const cold_ms = await rows(() => page.goto(link));
  const paint_ms = await firstPaint(page);
  const cached_ms = await rows(() => page.reload());
  return { page, paint_ms, cold_ms, cached_ms };
}

/** Serves a page of one word, the minimum that a browser can paint. */
async function openBare() {
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html').end('<!doctype html><title>bare</title><p>bare');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${portOf(server)}/`, end: () => server.close() };
}

async function paintBare(browser: Browser, url: string): Promise<number> {
  const page = await (await browser.newContext()).newPage();
  await page.goto(url);
  const ms = await firstPaint(page);
  await page.context().close();
  return ms;
}

/** Runs in the page: turns a page or filters; returns the milliseconds until the new rows appear. */
function turn(act: string): Promise<number> {
  const started = performance.now();
  return new Promise((resolve) => {
    let wasBusy = false;
    const observer = new MutationObserver(() => {
      const isBusy = document.querySelector('[aria-busy=true]') !== null;
      wasBusy ||= isBusy;
      if (isBusy || !wasBusy) return;
      observer.disconnect();
      requestAnimationFrame(() => resolve(performance.now() - started));
    });
    observer.observe(document, { childList: true, subtree: true, attributes: true });
    const field = document.querySelector<HTMLInputElement>('header input');
    if (act === 'older') document.querySelector<HTMLElement>('footer .buttons button:last-child')?.click();
    else if (field !== null) {
      field.value = act;
      field.dispatchEvent(new Event('input', { bubbles: true }));
      field.form?.requestSubmit();
    }
  });
}

/** Returns the line of a figure that may be at most its target. */
function judgedLine(name: string, figure: keyof typeof TARGETS, value: number, stated: Stated): Line {
  const most = TARGETS[figure];
  return line('console', name, { [figure]: value, most, met: value <= most, ...stated });
}

/** Turns pages and filters while it polls `/livez`. */
interface TurnOptions {
  readonly port: number;
  readonly filters: readonly string[];
  readonly stated: Stated;
}

async function turnLines(page: Page, { port, filters, stated }: TurnOptions): Promise<readonly Line[]> {
  const older: number[] = [];
  const filtered: Record<string, number> = {};
  let done = false;
  const alive = (async () => {
    const times: number[] = [];
    const ask = async () => (await fetch(`http://127.0.0.1:${port}/livez`)).text();
    // The first call loads the client.
    await ask();
    while (!done) {
      const sent = performance.now();
      await ask();
      times.push(performance.now() - sent);
      // Requests without pauses would take the processor from the page and the daemon.
      await setTimeout(LIVEZ_INTERVAL_MS);
    }
    return Math.max(...times);
  })();
  for (let n = 0; n < TURNS; n += 1) older.push(await page.evaluate(turn, 'older'));
  const nodes = await page.evaluate(() => document.querySelectorAll('*').length);
  for (const filter of filters) filtered[filter] = await page.evaluate(turn, filter);
  done = true;
  const livez_ms = await alive;
  const session = await page.context().newCDPSession(page);
  await session.send('HeapProfiler.collectGarbage');
  const heap_mb = (await session.send('Runtime.getHeapUsage')).usedSize / 1e6;
  const judged = (name: string, figure: keyof typeof TARGETS, value: number) => judgedLine(name, figure, value, stated);
  return [
    judged('older', 'turn_ms', Math.max(...older)),
    ...Object.entries(filtered).map(([filter, ms]) => judged(filter, 'turn_ms', ms)),
    judged('livez-meanwhile', 'livez_ms', livez_ms),
    judged('nodes', 'nodes', nodes),
    judged('heap', 'heap_mb', heap_mb),
  ];
}

interface ConsoleOptions extends Record<'rounds' | 'tokens', number> {
  readonly cache: string | undefined;
}

/** A page that is open, with its times and its `vault ui`. */
type Opened = Awaited<ReturnType<typeof openOnce>> & {
  readonly bare_ms: number;
  readonly ui: Awaited<ReturnType<typeof openUi>>;
};

/** Measures the console of a daemon in Chromium (design of the console, §3 and §10, checks 5 and 23). */
export async function consolePage({ rounds, tokens, cache }: ConsoleOptions): Promise<CaseResult> {
  if (cache !== undefined) await mkdir(cache, { recursive: true });
  const browser = await chromium.launch({
    executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
    args: ['--no-sandbox'],
  });
  try {
    const rows = await withFolder(async (place, environment) => {
      const { keys, env, ids } = await openCopy(tokens, { cache: cache ?? place, place, environment });
      const stated = { tokens };
      const daemon = await serve([], env);
      const bare = await openBare();
      const opened: Opened[] = [];
      const last = () => {
        const found = opened.at(-1);
        if (found === undefined) throw new Error('no page is open');
        return found;
      };
      try {
        for (let round = 0; round < rounds; round += 1) {
          const ui = await openUi(['--url', daemon.url], { ...environment, VAULT_API_KEY: keys.reveal });
          const bare_ms = await paintBare(browser, bare.url);
          const { page, ...times } = await openOnce(browser, ui.link);
          opened.push({ ...times, bare_ms, page, ui });
          if (round < rounds - 1) await end(last());
        }
        const of = (member: 'paint_ms' | 'cold_ms' | 'cached_ms' | 'bare_ms') =>
          median(opened.map((each) => each[member]));
        const [paint_ms, bare_ms] = [of('paint_ms'), of('bare_ms')];
        const met = paint_ms <= TARGETS.paint_ms && paint_ms <= 2 * bare_ms;
        const filters = [
          'type:card',
          'container:/pci/*',
          'customer=customer-00000500',
          `id:${ids[0]}`,
          'data:4242424242424242',
        ];
        return [
          line('console', 'first-paint', { paint_ms, most: TARGETS.paint_ms, met, bare_ms, ...stated }),
          judgedLine('rows-cold', 'cold_ms', of('cold_ms'), stated),
          judgedLine('rows-cached', 'cached_ms', of('cached_ms'), stated),
          ...(await turnLines(last().page, { port: daemon.port, filters, stated })),
        ];
      } finally {
        await end(last());
        bare.end();
        await daemon.end();
      }
    }, cache);
    return { title: `The console in Chromium ${browser.version()}, medians of ${rounds} openings`, rows };
  } finally {
    await browser.close();
  }
}

async function end({ page, ui }: Opened): Promise<void> {
  await page.context().close();
  await ui.end();
}
