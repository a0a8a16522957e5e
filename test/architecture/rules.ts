import path from 'node:path';
import { type Import, importsOf, packageName } from './imports.ts';

/** The text of each source file by its path in the checkout, with `/` between its parts. */
export type Sources = ReadonlyMap<string, string>;

/** Checks the sources; returns one line for each violation, beginning with the file. */
export type Rule = (sources: Sources) => readonly string[];

interface Layer {
  readonly name: string;
  readonly folder: string;
  /** Folders and files that its files may import besides their own folder. */
  readonly may: readonly string[];
  /** Only as types. */
  readonly mayAsTypes?: readonly string[];
  /** Node modules and packages that its files must not import. Absent: none. */
  readonly refuses?: RegExp;
}

/** The parts of the core that an adapter may import: its ports, its two errors and shared pure functions. */
const PORTS = [
  'src/contract/',
  'src/core/problem.ts',
  'src/core/assert-engine.ts',
  'src/core/fault.ts',
  'src/core/bytes.ts',
  'src/core/loaded-once.ts',
  'src/core/time.ts',
  'src/core/open-to-others.ts',
  'src/core/quota.ts',
  'src/core/rate-limit.ts',
  'src/core/slices.ts',
  'src/core/timers.ts',
  'src/core/audit/audit-link.ts',
];
const PORT_TYPES = [
  'src/core/ports.ts',
  'src/core/audit/ports.ts',
  'src/core/key-holder-ports.ts',
  'src/core/move-ports.ts',
  'src/core/meter.ts',
  'src/core/application-ports.ts',
  'src/core/insert-ports.ts',
  'src/core/reply-ports.ts',
  'src/core/scan-ports.ts',
];
const WORLD = /^node:(?!crypto$|buffer$|zlib$)/;

/**
 * `cli, http, library, testing → client → vault → history, keyring, store → core → contract`. A file belongs to
 * the first folder that matches.
 */
const LAYERS: readonly Layer[] = [
  { name: 'contract', folder: 'src/contract/', may: [], refuses: /./ },
  { name: 'core', folder: 'src/core/', may: ['src/contract/'], refuses: WORLD },
  { name: 'paths', folder: 'src/paths/', may: ['src/core/fault.ts'] },
  {
    name: 'keyring',
    folder: 'src/keyring/',
    may: [...PORTS, 'src/core/base58.ts'],
    mayAsTypes: PORT_TYPES,
  },
  {
    name: 'rows of all stores',
    folder: 'src/store/rows/',
    may: PORTS,
    mayAsTypes: PORT_TYPES,
  },
  {
    name: 'sqlite store',
    folder: 'src/store/sqlite/',
    may: [...PORTS, 'src/store/rows/', 'src/paths/'],
    mayAsTypes: PORT_TYPES,
  },
  {
    name: 'PostgreSQL store',
    folder: 'src/store/postgres/',
    may: [...PORTS, 'src/store/rows/', 'src/paths/home-folder.ts'],
    mayAsTypes: PORT_TYPES,
  },
  {
    name: 'moves between stores',
    folder: 'src/store/move/',
    may: [...PORTS, 'src/store/', 'src/paths/'],
    mayAsTypes: PORT_TYPES,
  },
  {
    name: 'http',
    folder: 'src/http/',
    may: [...PORTS, 'src/core/log-output.ts', 'src/core/socket-path.ts', 'src/paths/'],
    mayAsTypes: [...PORT_TYPES, 'src/client/'],
  },
  {
    name: 'client',
    folder: 'src/client/',
    may: ['src/contract/', 'src/core/'],
    mayAsTypes: ['src/vault/vault.ts', 'src/keyring/credential.ts'],
  },
  {
    name: 'page of the console',
    folder: 'src/console/page/',
    may: [
      'src/contract/',
      'src/client/create-client.ts',
      'src/client/request-path.ts',
      'src/client/shell-word.ts',
      'src/core/access/explain-access.ts',
      'src/core/access/grants.ts',
      'src/core/search/parse-query.ts',
    ],
    mayAsTypes: ['src/console/about.ts'],
    refuses: /^node:/,
  },
  {
    name: 'console',
    folder: 'src/console/',
    may: [...PORTS, 'src/core/log-output.ts', 'src/http/'],
  },
  {
    name: 'cli',
    folder: 'src/cli/',
    may: [
      'src/contract/',
      'src/core/',
      'src/client/',
      'src/http/',
      'src/console/',
      'src/paths/',
      'src/vault/vault.ts',
      'src/vault/admin.ts',
      'src/vault/passphrase-check.ts',
      'src/vault/checks/check-vault-file.ts',
      'src/vault/clock/dev-clock.ts',
      'src/vault/file-commands.ts',
      'src/vault/holder-log.ts',
      'src/vault/move.ts',
      'src/vault/open-token-export.ts',
      'src/vault/location.ts',
      'src/vault/report-error.ts',
      'src/vault/resettable.ts',
      'src/vault/snapshots.ts',
      'src/vault/store-vault.ts',
      'package.json',
    ],
    mayAsTypes: [
      'src/history/audit-archive.ts',
      'src/keyring/credential.ts',
      'src/vault/key-holder.ts',
      'src/vault/tenants/each-tenant.ts',
    ],
  },
  {
    name: 'helper for tests',
    folder: 'src/testing/',
    may: [
      'src/contract/',
      'src/core/',
      'src/client/',
      'src/http/',
      'src/cli/commands/dev/step-forward.ts',
      'src/cli/commands/dev/seeded-dev-vault.ts',
      'src/cli/commands/serve/ready-file.ts',
      'src/cli/commands/serve/end-with-input.ts',
      'src/cli/help/version.ts',
    ],
    mayAsTypes: ['src/vault/vault.ts', 'src/vault/clock/dev-clock.ts'],
  },
  {
    name: 'library',
    folder: 'src/library/',
    may: [
      'src/contract/',
      'src/core/',
      'src/client/',
      'src/vault/location.ts',
      'src/vault/vault.ts',
      'src/cli/credential/read-credential.ts',
      'src/cli/commands/keys/new-credential.ts',
      'src/cli/commands/serve/sweeper.ts',
    ],
    mayAsTypes: ['src/keyring/credential.ts'],
  },
  {
    name: 'composition root',
    folder: 'src/vault/',
    may: ['src/contract/', 'src/core/', 'src/history/', 'src/keyring/', 'src/store/', 'src/paths/', 'package.json'],
  },
  {
    name: 'history',
    folder: 'src/history/',
    may: ['src/contract/', 'src/core/'],
    refuses: WORLD,
  },
];

/** The only folder or file that may import each package. Other packages must not be imported. */
const PACKAGES: Readonly<Record<string, string>> = {
  'better-sqlite3': 'src/store/sqlite/',
  pg: 'src/store/postgres/',
  'libsodium-wrappers': 'src/keyring/',
  'libsodium-wrappers-sumo': 'src/keyring/',
  'json-p3': 'src/core/expressions/',
  luxon: 'src/core/',

  'find-my-way': 'src/http/',
  'prom-client': 'src/http/',
  preact: 'src/console/page/',
  '@preact/signals': 'src/console/page/',
  commander: 'src/cli/',
  '@inquirer/prompts': 'src/cli/',
  chalk: 'src/cli/',
  yaml: 'src/cli/',
  'string-width': 'src/cli/',
  'csv-parse': 'src/cli/',
  'csv-stringify': 'src/cli/',
  'age-encryption': 'src/cli/commands/transfer/',
  execa: 'src/cli/commands/dev/',
  uuidv7: 'src/vault/system-random.ts',
};

/** Slow packages, which only `await import()` and types may name. */
export const HEAVY = [
  'better-sqlite3',
  'pg',
  'libsodium-wrappers',
  'libsodium-wrappers-sumo',
  'libsodium',
  'libsodium-sumo',
  'json-p3',
  'luxon',
  '@inquirer/prompts',
  'yaml',
  'csv-parse',
  'csv-stringify',
  'age-encryption',
  'execa',
] as const;

/** Code that could run injected text, or keep or send shown data. */
const IN_NO_PAGE = /dangerouslySetInnerHTML|(?:inner|outer)HTML|insertAdjacent|\beval\b|new Function|https?:\/\//;

export const pageHoldsNoDangerousWords: Rule = (sources) =>
  eachFile(sources, (file, text) => {
    if (!file.startsWith('src/console/page/')) return undefined;
    const found = text.match(IN_NO_PAGE)?.[0];
    if (found !== undefined) return `the page must not have ${found}`;
    return text.includes('localStorage') && !file.endsWith('/theme.tsx')
      ? 'only theme.tsx uses localStorage'
      : undefined;
  });

const MAX_LINES = 400;
const BANNED_WORDS = new Set(['util', 'utils', 'helper', 'helpers', 'common', 'manager', 'service', 'misc']);

function eachImport(sources: Sources, check: (found: Import) => string | undefined): readonly string[] {
  return [...sources].flatMap(([file, text]) =>
    importsOf(file, text).flatMap((found) => {
      const complaint = check(found);
      return complaint === undefined ? [] : [`${file}: ${complaint}`];
    }),
  );
}

function eachFile(sources: Sources, check: (file: string, text: string) => string | undefined): readonly string[] {
  return [...sources].flatMap(([file, text]) => {
    const complaint = check(file, text);
    return complaint === undefined ? [] : [`${file}: ${complaint}`];
  });
}

const inSources = (file: string): boolean => file.startsWith('src/');
const layerOf = (file: string): Layer | undefined => LAYERS.find(({ folder }) => file.startsWith(folder));
const startsWithAny = (target: string, starts: readonly string[] = []): boolean =>
  starts.some((start) => target.startsWith(start));

export const importsPointDown: Rule = (sources) =>
  eachImport(sources, ({ from, target, relative, typeOnly }) => {
    const layer = layerOf(from);
    if (layer === undefined) return undefined;
    if (!relative) return layer.refuses?.test(target) ? `the ${layer.name} must not import ${target}` : undefined;
    if (layer.folder !== 'src/' && target.startsWith(layer.folder)) return undefined;
    if (startsWithAny(target, layer.may) || (typeOnly && startsWithAny(target, layer.mayAsTypes))) return undefined;
    return `the ${layer.name} must not import ${target}`;
  });

const REQUIRING = /^src\/(keyring\/sodium|store\/sqlite\/file\/driver)\.ts$/;
export const packagesStayInTheirPlace: Rule = (sources) =>
  eachImport(sources, ({ from, target, relative }) => {
    if (!inSources(from) || relative || (target.startsWith('node:') && target !== 'node:module')) return undefined;
    if (target === 'node:module') return REQUIRING.test(from) ? undefined : `only ${REQUIRING} may require packages`;
    const name = packageName(target);
    if (!Object.hasOwn(PACKAGES, name)) return `${name} is not a package that src/ uses`;
    return from.startsWith(PACKAGES[name] ?? '') ? undefined : `only ${PACKAGES[name]} may import ${name}`;
  });

export const heavyPackagesAreLazy: Rule = (sources) =>
  eachImport(sources, ({ from, target, relative, typeOnly, dynamic }) => {
    // `await import()` runs all getters of a module. That of WebSocket loads Node's undici: a quarter of a start.
    if (dynamic && target === 'node:http' && inSources(from)) return `${target} only by a static import`;
    const lazy = typeOnly || dynamic || relative || !inSources(from);
    return lazy || !HEAVY.some((name) => name === packageName(target)) ? undefined : `${target} only by await import()`;
  });

export const filesAreShort: Rule = (sources) =>
  eachFile(sources, (file, text) => {
    const lines = text.split('\n').length - 1;
    const isTable = file.startsWith('src/contract/');
    return inSources(file) && lines > MAX_LINES && !isTable ? `${lines} lines; ${MAX_LINES} is the end` : undefined;
  });

export const filesAreNamedForWhatTheyHold: Rule = (sources) =>
  eachFile(sources, (file) => {
    const name = path.posix.basename(file).split('.')[0] ?? '';
    const banned = name.split('-').find((word) => BANNED_WORDS.has(word));
    if (name === 'index') return 'a folder has no index; its files are imported by name';
    if (banned !== undefined) return `"${banned}" says nothing of what is in it`;
    return /^[a-z0-9]+(-[a-z0-9]+)*$/.test(name) ? undefined : 'not in kebab-case';
  });

export const noDefaultExports: Rule = (sources) =>
  eachFile(sources, (file, text) =>
    inSources(file) && /^export\s+default\b|^export\s*\{[^}]*\bas\s+default\b/m.test(text)
      ? 'default export'
      : undefined,
  );

/** Entry points of the package, which re-export the types of their interface. */
const PUBLIC_ENTRIES = ['src/testing/start-vault.ts', 'src/client/create-client.ts'];

/** Declarations export by keyword, so an export list re-exports another file. */
export const noBarrels: Rule = (sources) =>
  eachFile(sources, (file, text) =>
    inSources(file) && !PUBLIC_ENTRIES.includes(file) && /^export\s+(?:type\s+)?[*{]/m.test(text)
      ? 're-exports another file'
      : undefined,
  );

/** Removes comments and the contents of strings, so that a search finds only keywords. */
export function codeOf(text: string): string {
  return text
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"/g, "''")
    .replace(/(^|\s)\/\/.*$/gm, '');
}

const EVASIONS: readonly (readonly [RegExp, string])[] = [
  [/(?:[:<|&,(]|\bas|\bsatisfies)\s*any\b(?!\s*[:(])|\bany\[\]/, 'any'],
  [/\bas\s+unknown\s+as\b/, 'as unknown as'],
];
const DIRECTIVES = /@ts-(?:ignore|expect-error|nocheck)|biome-ignore/;

export const noEvasions: Rule = (sources) =>
  eachFile(sources, (_file, text) => {
    const code = codeOf(text);
    return EVASIONS.find(([pattern]) => pattern.test(code))?.[1] ?? text.match(DIRECTIVES)?.[0];
  });

/** Matches the declaration of bytes: an annotation, or a value that is made as bytes. */
const DECLARED_BYTES =
  /\b(\w+)\??(?::\s*(?:Uint8Array|Buffer)\b|\s*=\s*(?:await\s+)?(?:new Uint8Array|Buffer\.|random(?:Bytes|FillSync))(?!.*\.toString\())/g;

/**
 * `slice` of a `Buffer` is a view, also where its type says `Uint8Array`. A view that is wiped or changed later changes
 * the bytes of their owner, so the product copies with `new Uint8Array(bytes)` and names views with `subarray`.
 */
export const noSlicesOfBytes: Rule = (sources) =>
  eachFile(sources, (file, text) => {
    if (!inSources(file)) return undefined;
    const code = codeOf(text);
    const names = new Set([...code.matchAll(DECLARED_BYTES)].map(([, name = '']) => name));
    const slices = [...code.matchAll(/(\w+)?\)?\??\.slice\((\))?/g)];
    const found = slices.find(([, name = '', whole]) => whole !== undefined || names.has(name));
    return found && `${found[0].trim()} of bytes: copy with new Uint8Array, or name a view with subarray`;
  });
