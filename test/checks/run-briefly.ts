import { spawn } from 'node:child_process';
import { once } from 'node:events';

const MAX_MS = 20_000;

/**
 * Runs a program without standard input. Ends it when it has printed `until`. Kills it after 20 s; the exit code is then
 * null.
 */
export async function runBriefly(
  cwd: string,
  env: NodeJS.ProcessEnv,
  [program = '', ...args]: readonly string[],
  until?: RegExp,
) {
  const child = spawn(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let [printed, stderr] = ['', ''];
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      printed += text;
      if (stream === child.stderr) stderr += text;
      if (until?.test(printed)) child.kill('SIGTERM');
    });
  }
  const timer = setTimeout(() => child.kill('SIGKILL'), MAX_MS);
  const [code] = (await once(child, 'close')) as [number | null];
  clearTimeout(timer);
  return { code, stderr, printed };
}
