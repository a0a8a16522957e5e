import { spawn } from 'node:child_process';
import { once } from 'node:events';

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

/** Starts a plain `node:http` server in its own process, as a baseline for measurements. */
export async function startBareServer(): Promise<Disposable & { readonly url: string; readonly port: number }> {
  const child = spawn(process.execPath, ['--input-type=module', '-e', SERVER], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const close = () => {
    child.kill('SIGKILL');
    process.removeListener('exit', close);
  };
  process.once('exit', close);
  const [line] = await once(child.stdout, 'data');
  const port = Number(String(line).trim());
  return { url: `http://127.0.0.1:${port}/`, port, [Symbol.dispose]: close };
}
