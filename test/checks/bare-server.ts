import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { ROOT } from '../../scripts/build-output.ts';

/** Prints its port, answers every request with 200, a POST after an fsync, and exits after two minutes. */
const SERVER = `
import { fsync, mkdtempSync, openSync, rmSync, write } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
const folder = mkdtempSync(tmpdir() + '/vault-bare-');
const fd = openSync(folder + '/posted', 'w');
rmSync(folder, { recursive: true });
const server = createServer((request, response) => {
  const end = () => response.end('{}');
  if (request.method === 'POST') request.toArray().then((parts) => write(fd, Buffer.concat(parts), 0, () => fsync(fd, end)));
  else { request.resume(); end(); }
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
setTimeout(() => process.exit(), 120000);
`;

/** Runs a script in its own process, in the checkout, so that Node finds its packages. Resolves when it prints a line. */
export async function startScript(script: string, ...args: readonly string[]) {
  const child = spawn(process.execPath, ['--input-type=module', '-e', script, ...args], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const kill = () => {
    child.kill('SIGKILL');
    process.removeListener('exit', kill);
  };
  process.once('exit', kill);
  const [line] = await once(child.stdout, 'data');
  return { child, line: String(line).trim(), [Symbol.dispose]: kill };
}

/** Starts a plain `node:http` server in its own process, as a baseline for measurements. */
export async function startBareServer() {
  const { line, [Symbol.dispose]: close } = await startScript(SERVER);
  return { url: `http://127.0.0.1:${line}/`, port: Number(line), [Symbol.dispose]: close };
}
