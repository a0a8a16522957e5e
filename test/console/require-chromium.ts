import { access } from 'node:fs/promises';

/** The browser of the tests. */
export const CHROMIUM = process.env['CHROMIUM'] ?? '/usr/bin/chromium';

/** Throws without a browser, because skipped tests would pass. */
export async function setup(): Promise<void> {
  await access(CHROMIUM).catch(() => {
    throw new Error(`${CHROMIUM} is missing.\nhint: install the package chromium, or name a browser in CHROMIUM`);
  });
}
