import { existsSync } from 'node:fs';

/** Debian's Chromium. The shell has no user interface and needs half the processor time. */
const PATHS = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'];

/** The browser of the tests. */
export const CHROMIUM = process.env['CHROMIUM'] ?? PATHS.find(existsSync);

/** Throws without a browser, because skipped tests would pass. */
export function setup(): void {
  if (CHROMIUM !== undefined && existsSync(CHROMIUM)) return;
  throw new Error(
    `${CHROMIUM ?? 'Chromium'} is missing.\nhint: install the package chromium-headless-shell or chromium, or name a browser in CHROMIUM`,
  );
}
