import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { main } from '../../src/cli/main.ts';

it('vault env --github masks the key before it sets the variables', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'vault-github-'));
  onTestFinished(() => {
    vi.unstubAllEnvs();
    vi.restoreAllMocks();
    rmSync(folder, { recursive: true });
  });
  const [ready, job] = [path.join(folder, 'ready.json'), path.join(folder, 'github')];
  writeFileSync(ready, '{"url":"http://127.0.0.1:1","pid":7,"version":"1","private_key":"key_x"}', { mode: 0o600 });
  writeFileSync(job, 'A=1\n');
  vi.stubEnv('GITHUB_ENV', job);
  let stdout = '';
  vi.spyOn(process.stdout, 'write').mockImplementation((text, ...rest: readonly unknown[]) => {
    stdout += String(text);
    const done = rest.at(-1);
    if (typeof done === 'function') done();
    return true;
  });
  expect(await main(['env', '--ready-file', ready, '--github'])).toBe(0);
  expect(stdout).toBe('::add-mask::key_x\n');
  expect(readFileSync(job, 'utf8')).toBe('A=1\nVAULT_URL=http://127.0.0.1:1\nVAULT_API_KEY=key_x\nVAULT_PID=7\n');
});
