import { fork } from 'node:child_process';
import type { AddressInfo, Server } from 'node:net';
import { pidOf } from '../scripts/run-vault.ts';

/** Runs a module in its own process with one argument. Resolves when it has reported its port. */
export async function startProcess(file: string, argument: string) {
  const child = fork(file, [argument], { execArgv: [] });
  const port = await new Promise<number>((resolve, reject) => {
    child.once('message', (message) => resolve(Number(message)));
    child.once('exit', () => reject(new Error(`${file} ended before it listened`)));
  });
  return { port, pid: pidOf(child), stop: () => child.disconnect() };
}

/** Listens on a free port, reports it to the parent, and ends with the parent. */
export function listenForParent(server: Server): void {
  process.on('disconnect', () => process.exit(0));
  server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
}
