import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { temporaryFolder } from '../temporary-folder.ts';
import { runMain } from './run-main.ts';

it('vault env --github masks the key before it sets the variables', async () => {
  const folder = temporaryFolder(onTestFinished);
  onTestFinished(() => void vi.unstubAllEnvs());
  const [ready, job] = [path.join(folder, 'ready.json'), path.join(folder, 'github')];
  writeFileSync(ready, '{"url":"http://127.0.0.1:1","pid":7,"version":"1","private_key":"key_x"}', { mode: 0o600 });
  writeFileSync(job, 'A=1\n');
  vi.stubEnv('GITHUB_ENV', job);
  const ended = await runMain('env', '--ready-file', ready, '--github');
  expect(ended).toEqual({ stdout: '::add-mask::key_x\n', stderr: '', exitCode: 0 });
  expect(readFileSync(job, 'utf8')).toBe('A=1\nVAULT_URL=http://127.0.0.1:1\nVAULT_API_KEY=key_x\nVAULT_PID=7\n');
});
