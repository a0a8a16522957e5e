import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { build, type Metafile } from 'esbuild';
import { describe, expect, it } from 'vitest';
import { BUNDLE, bundleProduct } from '../scripts/build-bundle.ts';
import { ROOT } from '../scripts/build-output.ts';
import { endedRepeats, exportedNamesAreUnique } from './architecture/exported-names.ts';
import { noMissingHandleMethods } from './architecture/file-handles.ts';
import { packageName } from './architecture/imports.ts';
import { noKeptRejections } from './architecture/kept-rejections.ts';
import { timersComeFromOneModule, valuesComeFromAnyRealm } from './architecture/realms.ts';
import {
  filesAreNamedForWhatTheyHold,
  filesAreShort,
  HEAVY,
  heavyPackagesAreLazy,
  importsPointDown,
  noBarrels,
  noDefaultExports,
  noEvasions,
  noSlicesOfBytes,
  packagesStayInTheirPlace,
  pageHoldsNoDangerousWords,
  type Rule,
  type Sources,
} from './architecture/rules.ts';
import { SEALED, sealedValuesAreListed, sealingCalls } from './architecture/sealed-values.ts';
import { pathsAreWrittenByOneRule, WRITERS } from './architecture/written-files.ts';

function readSources(...folders: readonly string[]): Sources {
  const files = folders.flatMap((folder) =>
    readdirSync(path.join(ROOT, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name) && !entry.name.includes('.generated.'))
      .map((entry) => path.relative(ROOT, path.join(entry.parentPath, entry.name)).split(path.sep).join('/')),
  );
  // The rules themselves contain the forbidden words.
  const judged = files.filter((file) => !file.startsWith('test/architecture'));
  return new Map(judged.map((file) => [file, readFileSync(path.join(ROOT, file), 'utf8')]));
}

const sources = readSources('src', 'test');

interface Case {
  readonly rule: Rule;
  readonly says: string;
  /** Files that each break the rule. */
  readonly broken: readonly (readonly [file: string, text: string])[];
  /** Similar files that keep the rule. */
  readonly kept: readonly (readonly [file: string, text: string])[];
}

const CASES: readonly Case[] = [
  {
    says: 'each sealed value is listed with its key',
    rule: sealedValuesAreListed,
    broken: [
      ['src/keyring/keyring.ts', 'return sealText(sodium, carried.audit_index, KEY_ID, context, text);'],
      [
        'src/keyring/keyring.ts',
        [1, 2, 3, 4].map((key) => `sealText(sodium, carried.audit_sealing, ${key}, c, t);`).join('\n'),
      ],
      ['src/core/applications/create.ts', 'const sealed = keyring.sealAuditEvent(now, key);'],
      ['src/core/idempotency.ts', 'const sealed = tenantKeys.seal(context, text);'],
      [
        'src/core/a.ts',
        "import { createCipheriv } from 'node:crypto';\nconst cipher = createCipheriv(name, key, nonce);",
      ],
      ['src/keyring/a.ts', 'sodium.crypto_secretbox_easy(text, nonce, key);'],
    ],
    kept: [
      ['src/keyring/keyring.ts', 'return sealText(sodium, carried.audit_sealing, AUDIT_KEY_ID, context, text);'],
      ['src/keyring/a.ts', 'export function sealText(sodium: Sodium, key: Uint8Array) {}'],
      ['src/keyring/a.ts', 'sodium.crypto_box_seal_open(sealed, publicKey, secretKey);'],
    ],
  },
  {
    says: 'an import points down the layers only',
    rule: importsPointDown,
    broken: [
      ['src/contract/token.ts', "import { Problem } from '../core/problem.ts';"],
      ['src/contract/token.ts', "import { createHash } from 'node:crypto';"],
      ['src/contract/token.ts', "import type { Static } from 'typebox';"],
      ['src/core/dispatch.ts', "import { openFile } from '../store/sqlite/open-vault-file.ts';"],
      ['src/core/dispatch.ts', "import type { Vault } from '../vault/vault.ts';"],
      ['src/core/dispatch.ts', "import { request } from 'node:http';"],
      ['src/core/dispatch.ts', "const { readFile } = await import('node:fs/promises');"],
      ['src/core/dispatch.ts', "import 'node:net';"],
      ['src/console/page/main.tsx', "import { openVault } from '../../vault/vault.ts';"],
      ['src/console/page/main.tsx', "import { createHash } from 'node:crypto';"],
      ['src/console/page/main.tsx', "import { createIdentities } from '../identities.ts';"],
      ['src/keyring/keyring.ts', "import { systemClock } from '../core/ports.ts';"],
      ['src/keyring/keyring.ts', "import type { Handler } from '../core/handler.ts';"],
      ['src/keyring/keyring.ts', "import { connect } from '../store/sqlite/connect.ts';"],
      ['src/store/sqlite/commit/session.ts', "import { parseJson } from '../../../core/json/parse.ts';"],
      ['src/store/sqlite/commit/session.ts', "import { auditChain } from '../../../keyring/audit-chain.ts';"],
      ['src/store/postgres/schema.ts', "import { SCHEMA } from '../sqlite/file/schema.ts';"],
      ['src/store/postgres/connect.ts', "import { systemClock } from '../../vault/system-clock.ts';"],
      ['src/history/read-log.ts', "import { connect } from '../store/sqlite/file/connect.ts';"],
      ['src/history/read-log.ts', "import { readFileSync } from 'node:fs';"],
      ['src/http/routes.ts', "import { openVault } from '../vault/vault.ts';"],
      ['src/http/routes.ts', "import { createDispatch } from '../core/dispatch.ts';"],
      ['src/http/routes.ts', "import { main } from '../cli/main.ts';"],
      ['src/client/remote.ts', "import { startDaemon } from '../http/daemon.ts';"],
      ['src/cli/main.ts', "import { connect } from '../store/sqlite/connect.ts';"],
      ['src/cli/main.ts', "const x = await import('../keyring/unlock-keyring.ts');"],
      ['src/vault/vault.ts', "import { startDaemon } from '../http/daemon.ts';"],
    ],
    kept: [
      ['src/contract/token.ts', "import { TIME } from './text.ts';"],
      ['src/keyring/keyring.ts', "import type { Keyring } from '../core/ports.ts';"],
      ['src/keyring/keyring.ts', "import { type Keyring, type Random } from '../core/ports.ts';"],
      [
        'src/store/sqlite/commit/session.ts',
        "import {\n  type Store,\n  type PageOf,\n} from '../../../core/ports.ts';",
      ],
      ['src/cli/main.ts', "const { startDaemon } = await import('../http/daemon.ts');"],
      ['src/core/dispatch.ts', '// import nothing from elsewhere\n'],
    ],
  },
  {
    says: 'a package is imported only where it belongs',
    rule: packagesStayInTheirPlace,
    broken: [
      ['src/core/dispatch.ts', "const { default: sodium } = await import('libsodium-wrappers');"],
      ['src/vault/vault.ts', "import type Database from 'better-sqlite3';"],
      ['src/vault/vault.ts', "const { Client } = await import('pg');"],
      ['src/store/sqlite/file/connect.ts', "import type { Client } from 'pg';"],
      ['src/vault/vault.ts', "import { createRequire } from 'node:module';"],
      ['src/history/read-log.ts', "const x = await import('better-sqlite3');"],
      ['src/http/routes.ts', "import { Command } from 'commander';"],
      ['src/cli/main.ts', "const { DateTime } = await import('luxon');"],
      ['src/core/json/parse.ts', "import _ from 'lodash';"],
    ],
    kept: [
      ['src/keyring/sodium.ts', "import { createRequire } from 'node:module';"],
      ['src/cli/output/csv.ts', "const { stringify } = await import('csv-stringify/sync');"],
      ['src/store/postgres/connect.ts', "const { Client } = await import('pg');"],
    ],
  },
  {
    says: 'a heavy package is imported only by await import(), and node:http only statically',
    rule: heavyPackagesAreLazy,
    broken: [
      ['src/store/postgres/connect.ts', "import { Client } from 'pg';"],
      ['src/core/time.ts', "import luxon, {\n  type DateTime,\n} from 'luxon';"],
      ['src/cli/output/csv.ts', "import { stringify } from 'csv-stringify/sync';"],
      ['src/cli/ask.ts', "import * as prompts from '@inquirer/prompts';"],
      ['src/http/server.ts', "const { createServer } = await import('node:http');"],
    ],
    kept: [
      ['src/store/postgres/connect.ts', "import type { Client } from 'pg';"],
      ['src/store/postgres/connect.ts', "  const { Client } = await import('pg');"],
    ],
  },
  {
    says: 'a file ends before line 400, tables of the contract apart',
    rule: filesAreShort,
    broken: [['src/core/dispatch.ts', 'x;\n'.repeat(401)]],
    kept: [
      ['src/core/dispatch.ts', 'x;\n'.repeat(400)],
      ['src/contract/operations.ts', 'x;\n'.repeat(500)],
    ],
  },
  {
    says: 'a file is named in kebab-case for what it holds',
    rule: filesAreNamedForWhatTheyHold,
    broken: [
      ['src/core/utils.ts', ''],
      ['src/http/http-helpers.ts', ''],
      ['src/vault-manager.ts', ''],
      ['src/client/index.ts', ''],
      ['src/core/tokenService.ts', ''],
    ],
    kept: [
      ['src/core/json/json-number.ts', ''],
      ['src/store/sqlite/tables/token-index.ts', ''],
      ['test/unit/base58.test.ts', ''],
    ],
  },
  {
    says: 'there is no default export',
    rule: noDefaultExports,
    broken: [
      ['src/core/dispatch.ts', 'export default function dispatch() {}'],
      ['src/core/dispatch.ts', 'function a() {}\nexport { a as default };'],
    ],
    kept: [['src/core/dispatch.ts', 'export const fallback = 1; // the default']],
  },
  {
    says: 'no file re-exports another',
    rule: noBarrels,
    broken: [
      ['src/client/all.ts', "export * from './remote.ts';"],
      ['src/client/all.ts', "export { remoteClient } from './remote.ts';"],
      ['src/client/all.ts', "export type {\n  Client,\n} from './client.ts';"],
      ['src/client/all.ts', "import type { Client } from './client.ts';\nexport type { Client };"],
    ],
    kept: [['src/client/remote.ts', "import { a } from './a.ts';\nexport const b = a;"]],
  },
  {
    says: 'the compiler and the linter are not silenced',
    rule: noEvasions,
    broken: [
      ['src/core/a.ts', 'export function f(x: any) {}'],
      ['src/core/a.ts', 'const x = y as any;'],
      ['src/core/a.ts', 'const x: Record<string, any> = {};'],
      ['src/core/a.ts', 'let x: string | any;'],
      ['src/core/a.ts', 'const x = y as unknown as Token;'],
      ['src/core/a.ts', '// @ts-ignore\n'],
      ['test/unit/a.test.ts', '// @ts-expect-error\n'],
      ['src/core/a.ts', '// biome-ignore lint/a: b\n'],
    ],
    kept: [
      ['src/core/a.ts', "// as any reader sees\nconst x = 'see: any';\nawait Promise.any([]);"],
      ['src/core/a.ts', 'export const x = { any: 1 };'],
    ],
  },
  {
    says: 'bytes are copied, never sliced',
    rule: noSlicesOfBytes,
    broken: [
      ['src/library/a.ts', "return { kind: 'key_file', key: key.slice() };"],
      ['src/keyring/a.ts', 'return carried.audit_chain.slice();'],
      ['src/keyring/a.ts', 'const f = (bytes: Uint8Array) => bytes.slice(0, 32);'],
      ['src/keyring/a.ts', 'const f = (piece?: Buffer) => piece?.slice(1);'],
      ['src/keyring/a.ts', 'const secret = randomBytes(32);\nf(secret.slice(0, 16));'],
    ],
    kept: [
      ['src/keyring/a.ts', 'const f = (bytes: Uint8Array) => new Uint8Array(bytes.subarray(0, 32));'],
      ['src/core/a.ts', 'const f = (text: string) => text.slice(1);'],
      ['src/core/a.ts', '// bytes.slice() is a view\n'],
      ['test/unit/a.test.ts', 'const mine = key.slice();'],
    ],
  },
  {
    says: 'a file gets its name by one rule, which spares devices, pipes and links',
    rule: pathsAreWrittenByOneRule,
    broken: [
      ['src/cli/a.ts', "import { writeFileSync } from 'node:fs';"],
      ['src/cli/a.ts', "import { lstat, rename } from 'node:fs/promises';"],
      ['src/cli/a.ts', "import {\n  lstatSync,\n  openSync as look,\n} from 'node:fs';"],
      ['src/cli/a.ts', "import fs from 'node:fs';"],
      ['src/cli/a.ts', "import * as fs from 'fs/promises';"],
      ['src/cli/a.ts', "const { rename } = await import('node:fs/promises');"],
      ['src/cli/a.ts', "const { rename: move } = await import('node:fs/promises');"],
      ['src/cli/a.ts', "const fs = await import('node:fs');"],
      ['src/cli/files/whole-file.ts', "import { rename } from 'node:fs/promises';"],
    ],
    kept: [
      ['src/cli/a.ts', "import { lstatSync, type Stats } from 'node:fs';"],
      ['src/cli/files/whole-file.ts', "import { open } from 'node:fs/promises';"],
      ['src/cli/files/whole-file.ts', "const { lstat, open } = await import('node:fs/promises');"],
      ['test/unit/a.test.ts', "import { writeFileSync } from 'node:fs';"],
    ],
  },
  {
    says: 'file handles have only the methods that Yarn implements',
    rule: noMissingHandleMethods,
    broken: [
      ['src/cli/a.ts', 'await handle.sync();'],
      ['src/cli/a.ts', 'await draft.handle.datasync();'],
      ['src/cli/a.ts', 'await handle.utimes(1, 2);'],
    ],
    kept: [
      ['src/cli/a.ts', 'await syncFile(handle);'],
      ['test/unit/a.test.ts', 'await handle.sync();'],
    ],
  },
  {
    says: 'a failed load is not kept',
    rule: noKeptRejections,
    broken: [
      ['src/http/a.ts', 'let page: Promise<string> | undefined;\npage ??= load();'],
      ['src/http/a.ts', "let page: Promise<string> | undefined;\npage ??= import('./a.ts').then(({ a }) => a());"],
      ['src/http/a.ts', 'let console = isConsole ? load() : undefined;\nconsole ??= load();'],
      [
        'src/http/a.ts',
        'class A {\n  #log: Promise<number> | undefined;\n  f() {\n    this.#log ??= this.#load();\n  }\n}',
      ],
      ['src/http/a.ts', 'let made: Promise<number> | undefined;\nmade ??= isNew ? make() : undefined;'],
    ],
    kept: [
      ['src/http/a.ts', 'let page: string | undefined;\npage ??= load();'],
      ['src/http/a.ts', 'let page: string | undefined;\npage ??= await load();'],
      ['src/http/a.ts', 'class A {\n  #log: bigint | undefined;\n  f() {\n    this.#log ??= this.#look();\n  }\n}'],
      [
        'src/http/a.ts',
        'let page: Promise<string> | undefined;\npage ??= load().finally(() => {\n  page = undefined;\n});',
      ],
      ['src/http/a.ts', 'let closing: Promise<void> | undefined;\nclosing ??= close();'],
      ['src/http/a.ts', 'let page: Promise<void> | undefined;\npage ??= load().then(show, () => undefined);'],
      ['test/unit/a.test.ts', 'let page: Promise<string> | undefined;\npage ??= load();'],
    ],
  },
  {
    says: 'timers and the time come from the module that fake timers leave alone',
    rule: timersComeFromOneModule,
    broken: [
      ['src/http/a.ts', 'const timer = setTimeout(end, 10);'],
      ['src/http/a.ts', "import { setTimeout } from '../core/timers.ts';\nclearTimeout(setTimeout(end, 10));"],
      ['src/http/a.ts', 'timers.forEach(clearTimeout);'],
      ['src/http/a.ts', "import { setTimeout as sleep } from 'node:timers/promises';"],
      ['src/http/a.ts', "import { setTimeout } from 'node:timers';\nsetTimeout(end, 10);"],
      ['src/http/a.ts', 'globalThis.setImmediate(end);'],
      ['src/http/a.ts', 'queueMicrotask(end);'],
      ['src/http/a.ts', 'process.nextTick(end);'],
      ['src/http/a.ts', 'const start = performance.now();'],
      ['src/vault/a.ts', 'const wall = Date.now;'],
      ['src/vault/a.ts', 'return new Date().toISOString();'],
      ['src/vault/a.ts', 'return new Date(at).toISOString();'],
      ['src/vault/a.ts', 'return Date.parse(text);'],
    ],
    kept: [
      ['src/http/a.ts', "import { setTimeout } from '../core/timers.ts';\nsetTimeout(end, 10);"],
      ['src/core/a.ts', "import { nextTick, setTimeout } from './timers.ts';\nsetTimeout(end, 10);"],
      ['src/core/a.ts', 'let timer: ReturnType<typeof setTimeout>;'],
      ['src/core/a.ts', '/** Replaces `setTimeout(f)`. */ const day = new MachineDate(at);'],
      ['src/console/page/a.ts', 'setTimeout(show, Date.now() - start);'],
      ['test/unit/a.test.ts', 'setTimeout(end, performance.now());'],
    ],
  },
  {
    says: 'errors, bytes and signals are recognized whatever their realm',
    rule: valuesComeFromAnyRealm,
    broken: [
      ['src/paths/a.ts', "if (error instanceof Error && 'code' in error) return;"],
      ['src/store/a.ts', 'if (!(cause instanceof TypeError)) throw cause;'],
      ['src/keyring/a.ts', 'const isKey = key instanceof Uint8Array;'],
      ['src/library/a.ts', 'if (signal instanceof AbortSignal) signal.throwIfAborted();'],
      ['src/core/a.ts', 'if (buffer instanceof ArrayBuffer) buffer.transfer(0);'],
      ['src/core/a.ts', 'if (reply instanceof Promise) await reply;'],
    ],
    kept: [
      ['src/core/a.ts', 'if (error instanceof JsonSyntaxError || error instanceof Problem) return;'],
      ['src/core/a.ts', '/** Accepts what is `instanceof Error`. */'],
      ['src/console/page/a.ts', 'if (error instanceof TypeError) return;'],
      ['test/unit/a.test.ts', 'expect(error instanceof Error).toBe(true);'],
    ],
  },
  {
    says: 'the page of the console runs no text and keeps nothing',
    rule: pageHoldsNoDangerousWords,
    broken: [
      ['src/console/page/a.tsx', '<p dangerouslySetInnerHTML={{ __html: text }} />'],
      ['src/console/page/a.ts', 'place.innerHTML = text;'],
      ['src/console/page/a.ts', 'eval(text);'],
      ['src/console/page/a.ts', "fetch('https://example.test');"],
      ['src/console/page/a.ts', "localStorage.setItem('a', text);"],
    ],
    kept: [
      ['src/console/page/theme.tsx', "localStorage.getItem('theme');"],
      ['src/console/page/a.ts', 'place.replaceChildren(text);'],
      ['src/console/console.ts', "const url = 'http://127.0.0.1';"],
    ],
  },
];

function withTitle([file, text]: readonly [file: string, text: string]) {
  return { file, text, title: `${file}: ${text.split('\n').slice(0, 2).join(' ')}` };
}

describe.each(CASES)('$says', ({ rule, broken, kept }) => {
  it('holds', () => {
    expect(rule(sources)).toEqual([]);
  });

  it.each(broken.map(withTitle))('is broken by $title', ({ file, text }) => {
    expect(rule(new Map([[file, text]]))).toHaveLength(1);
  });

  it.each(kept.map(withTitle))('is kept by $title', ({ file, text }) => {
    expect(rule(new Map([[file, text]]))).toEqual([]);
  });
});

describe('an exported name is defined in one file', () => {
  const STORES = ['src/store/postgres/a.ts', 'src/store/sqlite/a.ts'] as const;

  it('holds', () => {
    expect(exportedNamesAreUnique(sources)).toEqual([]);
  });

  it.each([
    [1, 'export function moved() {}', 'export async function* moved() {}', ['src/core/a.ts', 'src/http/a.ts']],
    [1, 'export interface Moved {}', 'export type Moved = string;', ['src/core/a.ts', 'src/console/page/a.tsx']],
    [1, 'export const moved = 1;', 'export abstract class moved {}', STORES],
    [1, 'export const { moved } = a;', 'export const { b: moved = 1 } = a;', ['src/core/a.ts', 'src/core/b.ts']],
    [1, 'export const uuid = 1;', 'export const uuid = 2;', ['src/store/postgres/a.ts', 'src/core/a.ts']],
    [1, 'export const uuid = 1;', 'export const uuid = 2;', ['src/store/postgres/a.ts', 'src/store/postgres/b.ts']],
    [0, 'export const uuid = 1;', 'export const uuid = 2;', STORES],
    [0, 'export const moved = 1;', 'const moved = 2;', STORES],
    [0, 'export const moved = 1;', '// export const moved = 2;', STORES],
    [0, 'export const moved = 1;', 'export const moved = 2;', ['src/core/a.ts', 'test/a.ts']],
    [0, 'export const { a: moved } = b;', 'export const a = 2;', STORES],
    [0, 'export const moved = 1;\nexport type moved = 1;', '', STORES],
  ] as const)('is broken %i times by %s and %s', (times, one, other, [first, second]) => {
    expect(exportedNamesAreUnique(new Map<string, string>([[first, one]]).set(second, other))).toHaveLength(times);
  });

  it('lists no repeat that is gone', () => {
    expect(endedRepeats(sources)).toEqual([]);
    expect(endedRepeats(new Map([['src/a.ts', 'export const uuid = 1;']]))).toContain('uuid');
  });
});

it('lists no sealed value that is gone', () => {
  const found = new Map([...sources].map(([file, text]) => [file, sealingCalls(text)]));
  expect(SEALED.filter(([file, call]) => !found.get(file)?.includes(call))).toEqual([]);
});

it('seals only the audit and cursors under a key that outlives rotations', () => {
  const carried = SEALED.filter(([, , key]) => key === 'carried').map(([file]) => file);
  expect([...new Set(carried)]).toEqual([
    'src/keyring/keyring.ts',
    'src/core/audit/audit.ts',
    'src/core/audit/follower.ts',
    'src/core/audit/sums.ts',
    'src/core/tokens/list.ts',
    'src/vault/move.ts',
  ]);
});

it('lists no writer that is gone', () => {
  const unused = Object.entries(WRITERS).filter(([file, [functions]]) =>
    functions.split(' ').some((name) => !new RegExp(`\\b${name}\\b`).test(sources.get(file) ?? '')),
  );
  expect(unused.map(([file]) => file)).toEqual([]);
});

/** Returns the packages that an entry point loads before its first `await import()`. */
function eagerPackages(metafile: Metafile, start: string): ReadonlySet<string> {
  const reached = new Set([start]);
  for (const file of reached) {
    for (const { path: next, kind, external } of metafile.outputs[file]?.imports ?? []) {
      if (kind === 'import-statement' && !external) reached.add(next);
      if (kind === 'import-statement' && external) reached.add(`node_modules/${next}`);
    }
  }
  const inputs = [...reached].flatMap((file) => [file, ...Object.keys(metafile.outputs[file]?.inputs ?? {})]);
  return new Set(inputs.flatMap((file) => file.split('node_modules/').slice(1)).map(packageName));
}

describe('the start of the command line', () => {
  async function start(contents: string): Promise<ReadonlySet<string>> {
    const stdin = { contents, resolveDir: ROOT, sourcefile: 'start.js' };
    const { metafile } = await build({ ...BUNDLE, format: 'esm', splitting: true, stdin, metafile: true });
    return eagerPackages(metafile, 'dist/stdin.js');
  }

  it('loads no heavy package', async () => {
    const { metafile = { inputs: {}, outputs: {} } } = await bundleProduct();
    const eager = eagerPackages(metafile, 'dist/cli/main.js');
    expect(eager).toContain('commander');
    expect([...eager].filter((found) => HEAVY.some((heavy) => heavy === found))).toEqual([]);
  });

  it('control: a heavy package is found', async () => {
    expect(await start("export const load = () => import('luxon');")).toEqual(new Set());
    const eager =
      "import { DateTime } from 'luxon'; import Database from 'better-sqlite3'; export { DateTime, Database };";
    expect(await start(eager)).toEqual(new Set(['luxon', 'better-sqlite3']));
  });
});
