import type { Command } from 'commander';
import type { Vault } from '../../vault.ts';
import { readCredential } from '../credential.ts';
import { chooseFile } from '../door.ts';
import type { ExitCode, Finish } from '../exit-codes.ts';
import { addFlags, FILE_FLAGS, flagValue, type GlobalFlags, OUTPUT_FLAGS, typedFlags } from '../global-flags.ts';
import { chooseFormat } from '../output/format.ts';
import { writeOut } from '../output/write-out.ts';
import { tell } from '../report-failure.ts';
import { VERSION } from '../version.ts';
import type { DevKeys } from './dev-vault.ts';
import { writeReadyFile } from './ready-file.ts';
import { SERVE_FLAGS, type ServeFlags, type ServeOptions, serveOptions } from './serve-options.ts';
import { createStopper } from './stopper.ts';
import { startSweeper } from './sweeper.ts';

/** `vault serve`: the whole API on the file, until a signal. */
export function defineServe(command: Command, finish: Finish): void {
  addFlags(command, { ...SERVE_FLAGS, ...FILE_FLAGS, output: OUTPUT_FLAGS.output });
  command.action(async () => {
    const flags = typedFlags<ServeFlags>(command);
    finish(await serve(flags, serveOptions(flags, process.env)));
  });
}

async function serve(flags: ServeFlags & GlobalFlags, options: ServeOptions): Promise<ExitCode> {
  const asJson = chooseFormat(flagValue(flags.output, process.env, OUTPUT_FLAGS.output), true) === 'json';
  const stopper = createStopper();
  const { vault, keys } = await openServed(flags, options);
  try {
    const daemon = await listen(vault, options);
    const sweeper = startSweeper(() => vault.sweep(), tell);
    const ready = { url: daemon.url, pid: process.pid, version: VERSION, ...keys };
    if (options.readyFile !== undefined) await writeReadyFile(options.readyFile, ready);
    tell(`listening on ${daemon.url}`);
    if (keys !== undefined) {
      const { devBanner } = await import('./dev-banner.ts');
      await writeOut(asJson ? `${JSON.stringify(ready)}\n` : devBanner(daemon.url, keys, options.headerPrefix));
    }
    return await stopper.until(async () => {
      sweeper.stop();
      await daemon.stop();
    });
  } finally {
    await vault.close();
  }
}

async function openServed(
  flags: GlobalFlags,
  options: ServeOptions,
): Promise<{ readonly vault: Vault; readonly keys?: DevKeys }> {
  const { limits } = options;
  if (options.dev) {
    const { keptDevVault, temporaryDevVault } = await import('./dev-vault.ts');
    return flags.file === undefined ? temporaryDevVault(limits) : keptDevVault(flags.file, limits);
  }
  const file = chooseFile(flags, process.env);
  const credential = await readCredential(file, flags, process.env);
  const { openVault } = await import('../../vault.ts');
  return { vault: await openVault({ file, credential, limits }) };
}

async function listen(vault: Vault, options: ServeOptions) {
  const [{ startDaemon }, { directClient }] = await Promise.all([
    import('../../http/daemon.ts'),
    import('../../client/direct.ts'),
  ]);
  const { host, port, socket, headerPrefix, limits, log, allowInsecureHost } = options;
  const ready = () => vault.ready();
  return startDaemon(directClient(vault), {
    host,
    port,
    headerPrefix,
    limits,
    ready,
    log,
    version: VERSION,
    allowInsecureHost,
    ...(socket !== undefined && { socket }),
  });
}
