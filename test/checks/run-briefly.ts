import { spawn } from 'node:child_process';
import { once } from 'node:events';

const MAX_MS = 20_000;

/** Runs a program without standard input. Kills it after 20 s; the exit code is then null. */
export async function runBriefly(cwd: string, env: NodeJS.ProcessEnv, [program = '', ...args]: readonly string[]) {
  const child = spawn(program, args, { cwd, env, stdio: ['ignore', 'ignore', 'pipe'] });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const timer = setTimeout(() => child.kill('SIGKILL'), MAX_MS);
  const [code] = (await once(child, 'close')) as [number | null];
  clearTimeout(timer);
  return { code, stderr };
}
