import { spawn } from 'node:child_process';

/** The program that opens an address in the user's browser, with its first arguments, by platform. */
const OPENERS: Partial<Readonly<Record<NodeJS.Platform, readonly [string, ...string[]]>>> = {
  darwin: ['open'],
  // `start` uses its first quoted argument as the window title, so pass an empty one.
  win32: ['cmd', '/c', 'start', '""'],
};

/** Opens the address in the user's browser. Resolves to false when that fails. */
export function openBrowser(url: string): Promise<boolean> {
  const [program, ...words] = OPENERS[process.platform] ?? ['xdg-open'];
  return new Promise((resolve) => {
    const child = spawn(program, [...words, url], { stdio: 'ignore', detached: true });
    child.once('error', () => resolve(false));
    child.once('exit', (status) => resolve(status === 0));
    child.unref();
  });
}
