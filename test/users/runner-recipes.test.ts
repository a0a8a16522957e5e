import { spawn } from 'node:child_process';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Ended, endOf, isThere, makePlace, RUN_VAULT, VAULT_BIN } from '../process/cli-fixture.ts';
import { cleanEnvironment } from '../scripts/run-script.ts';
import { POSIX, writePrograms } from './page-fixture.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const PYTHON = POSIX ? 'python3' : 'python';

/** A project with this package and vitest, and `vault` on its PATH. */
const place = makePlace();
beforeAll(() => {
  mkdirSync(place.inside('node_modules'));
  for (const [name, target] of [
    ['token-vault', ROOT],
    ['vitest', path.join(ROOT, 'node_modules/vitest')],
  ] as const) {
    symlinkSync(target, place.inside(`node_modules/${name}`), 'junction');
  }
  writePrograms(place, 'bin', { vault: RUN_VAULT });
  writeFileSync(place.inside('bin/vault.cmd'), `@"${process.execPath}" "${VAULT_BIN}" %*\r\n`);
});

/** Copies a recipe into the project. `spoil` changes its text. */
function copy(recipe: string, as: string, spoil?: (text: string) => string): void {
  copyFileSync(path.join(ROOT, 'test/recipes', recipe), place.inside(as));
  if (spoil === undefined) return;
  const text = readFileSync(place.inside(as), 'utf8');
  const spoilt = spoil(text);
  expect(spoilt).not.toBe(text);
  writeFileSync(place.inside(as), spoilt);
}

function run(program: string, words: readonly string[]): Promise<Ended> {
  const PATH = `${place.inside('bin')}${path.delimiter}${process.env['PATH'] ?? ''}`;
  const env = cleanEnvironment({ PATH, PYTHONDONTWRITEBYTECODE: '1' });
  return endOf(spawn(program, [...words], { cwd: place.cwd, env, stdio: ['ignore', 'pipe', 'pipe'] }), 60_000);
}

const runVitest = () =>
  run(process.execPath, [
    path.join(ROOT, 'node_modules/vitest/vitest.mjs'),
    'run',
    '--root',
    place.cwd,
    '--reporter=tap',
  ]);

/** Runs the recipe as pytest does, for machines without it: creates the fixtures, runs each test, ends the fixtures. */
const PYTEST_STAND_IN = `
import pathlib, sys, tempfile, types
pytest = types.ModuleType("pytest")
pytest.fixture = lambda **options: (lambda function: function)
sys.modules["pytest"] = pytest
import test_tokens
class Factory:
    def mktemp(self, name):
        return pathlib.Path(tempfile.mkdtemp())
session = test_tokens.vault(Factory())
vault = next(session)
try:
    passed = 0
    for name in [name for name in dir(test_tokens) if name.startswith("test_")]:
        test_tokens.empty(vault)
        getattr(test_tokens, name)(vault)
        passed += 1
    print(passed, "passed")
finally:
    next(session, None)
`;

describe('the recipes for test runners', { timeout: 120_000 }, () => {
  it('vitest runs its recipe', async () => {
    copy('tokens.vitest.mjs', 'tokens.test.mjs');
    const ended = await runVitest();
    expect({ exitCode: ended.exitCode, text: ended.stdout + ended.stderr }).toEqual({
      exitCode: 0,
      text: expect.any(String),
    });
    expect(ended.stdout.match(/^ +ok /gm)).toHaveLength(3);
  });

  it('control: the recipe fails when the vault behaves otherwise', async () => {
    copy('tokens.vitest.mjs', 'tokens.test.mjs', (text) => text.replace('25 * 3_600_000', '23 * 3_600_000'));
    const ended = await runVitest();
    expect(ended.exitCode).toBe(1);
    expect(ended.stdout).toMatch(/not ok .* a token ends/);
  });

  it('pytest runs its recipe; without pytest, plain Python does', async () => {
    // On Windows, Python finds `vault` only with its suffix.
    if (!POSIX || !isThere(PYTHON)) return;
    copy('test_tokens.py', 'test_tokens.py');
    const asked = await run(PYTHON, ['-m', 'pytest', '--version']);
    const words =
      asked.exitCode === 0 ? ['-m', 'pytest', '-q', '-p', 'no:cacheprovider', 'test_tokens.py'] : ['stand-in.py'];
    writeFileSync(place.inside('stand-in.py'), PYTEST_STAND_IN);
    const passed = { exitCode: 0, stdout: expect.stringContaining('3 passed') };
    expect(await run(PYTHON, words)).toMatchObject(passed);
    expect(await run(PYTHON, ['stand-in.py'])).toMatchObject(passed);
    copy('test_tokens.py', 'test_tokens.py', (text) => text.replace('"times": 2', '"times": 3'));
    for (const each of [words, ['stand-in.py']]) expect((await run(PYTHON, each)).exitCode).toBe(1);
    expect(readdirSync(place.cwd)).not.toContain('.pytest_cache');
  });
});
