import { readdir, readFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import path from 'node:path';
import { CONSOLE_FIELDS } from './console-headers.ts';

/** The folder with the page's built files: in the sources, dist/console; in the build, the folder beside this one. */
const FOLDER = import.meta.filename.endsWith('.ts') ? '../../dist/console' : '../console';
/** The page of the package's documentation that the console links to, and its path below `/ui/`. */
const DOCUMENTATION = '../../docs/console.md';
const DOCUMENTATION_PATH = 'docs/console.md';
/** The pictures of a page, which the console does not serve. */
const PICTURES = /^!\[.*\n\n/gm;
const PAGE = 'index.html';
const COMPRESSED = '.br';

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.md': 'text/plain; charset=utf-8',
};

interface Asset {
  readonly type: string;
  readonly bytes: Buffer;
  /** The file's bytes, compressed with Brotli. */
  readonly compressed: Buffer | undefined;
}

/**
 * Reads the files of the page into memory, because an update of the product may replace them while a daemon runs.
 * Returns a function that serves them; a request cannot name a path on disk.
 */
export async function loadAssets() {
  const folder = path.join(import.meta.dirname, FOLDER);
  const names = await readdir(folder);
  const files = new Map(
    await Promise.all(names.map(async (name) => [name, await readFile(path.join(folder, name))] as const)),
  );
  // A copy of the program may leave the documentation out.
  const text = await readFile(path.join(import.meta.dirname, DOCUMENTATION), 'utf8').catch(() => undefined);
  if (text !== undefined) files.set(DOCUMENTATION_PATH, Buffer.from(text.replace(PICTURES, '')));
  const assets = new Map<string, Asset>();
  for (const [name, bytes] of files) {
    const type = TYPES[path.extname(name)];
    if (type !== undefined) assets.set(name, { type, bytes, compressed: files.get(`${name}${COMPRESSED}`) });
  }

  /**
   * Sends the file for a path below `/ui/`, or the page for a path without an extension. Returns false if the file does
   * not exist.
   */
  return (request: IncomingMessage, response: ServerResponse, below: string): boolean => {
    const isPage = !below.includes('.');
    const asset = assets.get(isPage ? PAGE : below);
    if (asset === undefined) return false;
    const { type, bytes, compressed } = asset;
    const isCompressed =
      compressed !== undefined && /\bbr\b/.test(request.headers['accept-encoding']?.toString() ?? '');
    const body = isCompressed ? compressed : bytes;
    response.writeHead(200, [
      ...['Cache-Control', /-[0-9A-Z]{8,}\./i.test(below) ? 'public, max-age=31536000, immutable' : 'no-store'],
      ...['X-Content-Type-Options', 'nosniff', 'Vary', 'Accept-Encoding'],
      ...['Content-Type', type, 'Content-Length', String(body.length)],
      ...(isCompressed ? ['Content-Encoding', 'br'] : []),
      ...CONSOLE_FIELDS,
    ]);
    response.end(request.method === 'HEAD' ? undefined : body);
    return true;
  };
}
