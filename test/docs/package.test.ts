import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import lockfile from '../../package-lock.json' with { type: 'json' };

const ROOT = path.resolve(import.meta.dirname, '../..');

/** Returns the paths of a page's links inside the package. */
function linksOf(page: string): readonly string[] {
  const text = readFileSync(path.join(ROOT, page), 'utf8');
  return [...text.matchAll(/\]\((?![a-z]+:|#)([^)#\s]+)/g)].map(([, link = '']) =>
    path.posix.join(path.dirname(page), link),
  );
}

/** The report of `npm pack` on the package. */
function pack(): { readonly files: readonly { readonly path: string }[]; readonly bundled: readonly string[] } {
  const words = ['pack', '--dry-run', '--json', '--ignore-scripts'];
  const text = execFileSync('npm', words, { cwd: ROOT, encoding: 'utf8', shell: process.platform === 'win32' });
  return JSON.parse(text)[0];
}

it('npm pack holds what the README links to, and the bundled packages', () => {
  const { bundled, files: packed } = pack();
  const files = packed.map(({ path: file }) => file);
  const links = linksOf('README.md');
  expect(links).toContain('docs/cli.md');
  expect(links.filter((link) => !files.some((file) => file === link || file.startsWith(`${link}/`)))).toEqual([]);
  const locked: readonly (readonly [string, object])[] = Object.entries(lockfile.packages);
  const wanted = locked.filter(([, entry]) => 'inBundle' in entry).map(([name]) => name.replace('node_modules/', ''));
  expect(wanted).toEqual(expect.arrayContaining(['libsodium', 'libsodium-sumo', 'pg-pool', 'pg-protocol', 'pg-types']));
  expect(bundled.toSorted()).toEqual(wanted.toSorted());
  for (const name of wanted) expect(files).toContain(`node_modules/${name}/package.json`);
});

it('compilers with moduleResolution node10 find the types of each import', () => {
  const { exports, types, typesVersions } = manifest;
  const declared = Object.entries(exports).flatMap(([name, entry]) => {
    if (typeof entry === 'string') return [];
    return [[name.replace('./', ''), 'types' in entry ? entry.types : entry.import.types] as const];
  });
  const found: Readonly<Record<string, readonly string[]>> = { ...typesVersions['*'], '.': [types] };
  expect(Object.fromEntries(declared.map(([name, file]) => [name, [file]]))).toEqual(found);
  for (const [, file] of declared) expect(existsSync(path.join(ROOT, file))).toBe(true);
});

/** Runs the check that `npm publish` runs first, on a package.json and a SECURITY.md. */
function checkPublisher(manifest: object, security: string) {
  const folder = mkdtempSync(path.join(tmpdir(), 'vault-publisher-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(path.join(folder, 'package.json'), JSON.stringify(manifest));
  writeFileSync(path.join(folder, 'SECURITY.md'), security);
  const script = path.join(ROOT, 'scripts/check-publisher.ts');
  const { status, stderr } = spawnSync(process.execPath, [script, folder], { encoding: 'utf8' });
  return [status, ...stderr.split('\n').filter(Boolean)];
}

const FILLED = { repository: 'r', homepage: 'h', bugs: 'b' };
const CONTACT = 'Write to <mailto:security@vault.test>.';
const PUBLISHERS: readonly (readonly [manifest: object, security: string, ...complaints: readonly string[]])[] = [
  [FILLED, CONTACT],
  [FILLED, 'Report privately.', 'SECURITY.md: a contact (mailto: or https:) is missing'],
  [{ ...FILLED, bugs: '' }, CONTACT, 'package.json: bugs is missing'],
  [{}, CONTACT, ...['repository', 'homepage', 'bugs'].map((name) => `package.json: ${name} is missing`)],
];
it.each(PUBLISHERS.map(([manifest, security, ...complaints]) => ({ manifest, security, complaints })))(
  'a publisher with $manifest and $security',
  ({ manifest, security, complaints }) => {
    expect(checkPublisher(manifest, security)).toEqual([complaints.length > 0 ? 1 : 0, ...complaints]);
  },
);

it.each([
  ['vault.cjs', ['help'], 'Usage: vault '],
  ['token-vault.cjs', ['help'], 'Usage: token-vault '],
  ['token-vault.cjs', ['completion', 'bash'], 'complete -F _vault token-vault\n'],
  ['token-vault.cjs', ['nothing'], "token-vault: unknown command 'nothing'\nhint: token-vault help\n"],
])('dist/%s %j', (bin, words, text) => {
  const { stdout, stderr } = spawnSync(process.execPath, [path.join(ROOT, 'dist', bin), ...words], {
    encoding: 'utf8',
  });
  expect(stdout + stderr).toContain(text);
});
