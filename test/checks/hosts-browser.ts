import { once } from 'node:events';
import { createServer } from 'node:http';
import { chromium } from 'playwright-core';
import { CHROMIUM } from '../console/require-chromium.ts';
import type { Outcome } from './hosts-network.ts';
import { PORTS } from './hosts-proxies.ts';

/** The port of a page of somebody else on the same host. */
const OTHER_PORT = 9005;
const { relay } = PORTS;

/** Opens the console in Chromium behind other ports, and attacks it from pages of others. */
export async function askBrowser(code: string): Promise<readonly Outcome[]> {
  // A form may go to any site, and Chromium lets no page of another site fetch from this machine.
  const page = `<!doctype html><form method="post" enctype="text/plain" action="http://localhost:${relay}/ui/session">
    </form><script>document.forms[0].submit()</script>`;
  const other = createServer((_request, response) => response.setHeader('Content-Type', 'text/html').end(page));
  await once(other.listen(OTHER_PORT, '127.0.0.1'), 'listening');
  const browser = await chromium.launch({
    ...(CHROMIUM !== undefined && { executablePath: CHROMIUM }),
    args: ['--no-sandbox', '--host-resolver-rules=MAP *.test 127.0.0.1'],
  });
  const context = await browser.newContext({ ignoreHTTPSErrors: true });
  /** Resolves to the status and the `Origin` of the request for a session that a page makes. */
  const attack = async (url: string) => {
    const opened = await context.newPage();
    const arrived = opened.waitForResponse((response) => response.url().endsWith('/ui/session'), { timeout: 10_000 });
    await opened.goto(url);
    const response = await arrived;
    const { origin } = await response.request().allHeaders();
    return `${response.status()} ${origin}`;
  };
  const open = (origin: string) => attack(`${origin}/ui/#code=${code}`);
  const [published, behindTls] = [`http://localhost:${relay}`, 'https://vault.test'];
  const [port, site] = [`http://localhost:${OTHER_PORT}`, `http://evil.test:${OTHER_PORT}`];
  try {
    const rebound = await (await context.newPage()).goto(`http://evil.test:${relay}/ui/`);
    return [
      { what: 'Chromium, a published port', wanted: `200 ${published}`, got: await open(published) },
      { what: 'Chromium, a proxy with TLS', wanted: `200 ${behindTls}`, got: await open(behindTls) },
      { what: 'Chromium, a page of another port', wanted: `403 ${port}`, got: await attack(port) },
      { what: 'Chromium, a page of another site', wanted: `403 ${site}`, got: await attack(site) },
      { what: 'Chromium, a rebound name', wanted: '421', got: String(rebound?.status()) },
    ];
  } finally {
    await browser.close();
    other.close();
  }
}
