import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { cleanEnvironment } from '../scripts/run-script.ts';
import { endOf, makePlace, VAULT_BIN } from './cli-fixture.ts';

const place = makePlace();
beforeAll(() => place.init('v'));

/** Replaces systemd-notify: records its argument and the names of its variables. */
const NOTIFY = `#!/bin/sh
echo "$1 $NOTIFY_SOCKET $(env | grep -c VAULT_)" >> told
exit $(cat code)
`;

describe.runIf(process.platform !== 'win32')('NOTIFY_SOCKET', () => {
  beforeAll(() => {
    writeFileSync(place.inside('systemd-notify'), NOTIFY);
    chmodSync(place.inside('systemd-notify'), 0o755);
  });

  async function serve(env: Readonly<Record<string, string>>) {
    writeFileSync(place.inside('told'), '');
    const args = [VAULT_BIN, 'serve', '--file', 'v.db', '--port', '0', '--no-log'];
    const child = spawn(process.execPath, args, {
      cwd: place.cwd,
      env: cleanEnvironment({ VAULT_AUDIT: 'all', ...env }),
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    const ended = endOf(child, 30_000);
    return { child, ended };
  }
  const told = () => readFileSync(place.inside('told'), 'utf8');
  const withNotify = `${place.cwd}${path.delimiter}${process.env['PATH']}`;

  it('hears READY and STOPPING once', async () => {
    writeFileSync(place.inside('code'), '0');
    const env = { NOTIFY_SOCKET: '/run/n', PATH: withNotify };
    const { child, ended } = await serve(env);
    await vi.waitFor(() => expect(told()).toBe('READY=1 /run/n 0\n'), 10_000);
    child.kill('SIGTERM');
    expect(await ended).toMatchObject({
      exitCode: 0,
      stderr: expect.stringMatching(/^vault: listening on .*\nvault: stopping after SIGTERM\n$/),
    });
    await vi.waitFor(() => expect(told()).toBe('READY=1 /run/n 0\nSTOPPING=1 /run/n 0\n'), 5_000);
  });

  it.each([
    ['a failure', '3', withNotify, 'exit code 3'],
    ['no program', '0', '/nowhere', 'ENOENT'],
  ])('reports %s, and serves', async (_what, code, PATH, reason) => {
    writeFileSync(place.inside('code'), code);
    const { child, ended } = await serve({ NOTIFY_SOCKET: '/run/n', PATH });
    let text = '';
    child.stderr?.on('data', (piece: string) => {
      text += piece;
    });
    await vi.waitFor(() => expect(text).toContain(`vault: systemd-notify failed (${reason})`), 10_000);
    child.kill('SIGTERM');
    expect(await ended).toMatchObject({ exitCode: 0 });
  });

  it('control: hears nothing without the variable', async () => {
    const { child, ended } = await serve({ PATH: withNotify });
    await once(child.stderr, 'data');
    child.kill('SIGTERM');
    expect(await ended).toMatchObject({ exitCode: 0 });
    expect(told()).toBe('');
  });
});
