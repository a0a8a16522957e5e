import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { makePlace } from './cli-fixture.ts';

const place = makePlace();
beforeAll(() => place.init('v'));

/** Replaces systemd-notify: records its argument and the names of its variables. */
const NOTIFY = 'echo "$1 $NOTIFY_SOCKET $(env | grep -c VAULT_)" >> told; exit $(cat code)';

describe.runIf(process.platform !== 'win32')('NOTIFY_SOCKET', () => {
  beforeAll(() => place.program('systemd-notify', NOTIFY));

  function serve(env: Readonly<Record<string, string>>) {
    writeFileSync(place.inside('told'), '');
    return place.serve(['--file', 'v.db', '--no-log'], { env: { VAULT_AUDIT: 'all', ...env } });
  }
  const heard = () => readFileSync(place.inside('told'), 'utf8');
  const withNotify = `${place.cwd}${path.delimiter}${process.env['PATH']}`;

  it('hears READY and STOPPING once', async () => {
    writeFileSync(place.inside('code'), '0');
    const env = { NOTIFY_SOCKET: '/run/n', PATH: withNotify };
    const { stop, told } = await serve(env);
    await vi.waitFor(() => expect(heard()).toBe('READY=1 /run/n 0\n'), 10_000);
    expect(await stop()).toBe(0);
    expect(told()).toMatch(/^vault: listening on .*\nvault: stopping after SIGTERM\n$/);
    await vi.waitFor(() => expect(heard()).toBe('READY=1 /run/n 0\nSTOPPING=1 /run/n 0\n'), 5_000);
  });

  it.each([
    ['a failure', '3', withNotify, 'exit code 3'],
    ['no program', '0', '/nowhere', 'ENOENT'],
  ])('reports %s, and serves', async (_what, code, PATH, reason) => {
    writeFileSync(place.inside('code'), code);
    const { stop, told } = await serve({ NOTIFY_SOCKET: '/run/n', PATH });
    await vi.waitFor(() => expect(told()).toContain(`vault: systemd-notify failed (${reason})`), 10_000);
    expect(await stop()).toBe(0);
  });

  it('control: hears nothing without the variable', async () => {
    const { stop } = await serve({ PATH: withNotify });
    expect(await stop()).toBe(0);
    expect(heard()).toBe('');
  });
});
