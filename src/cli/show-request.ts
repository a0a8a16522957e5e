import type { Call } from '../contract/call.ts';
import { Fault } from '../core/fault.ts';
import { chooseDoor } from './door.ts';
import type { ExitCode } from './exit-codes.ts';
import { DAEMON_FLAGS, type Environment, flagValue, type GlobalFlags } from './global-flags.ts';
import { stripFromLines } from './output/control-characters.ts';
import { createPrinter } from './output/print-result.ts';
import { isTerminal } from './output/standard-output.ts';
import { writeOut } from './output/write-out.ts';

/** Shows a request in place of sending it. Needs no vault and no API key; neither is in what it shows. */
export async function showRequest(
  call: Call,
  as: 'curl' | 'dry-run',
  flags: GlobalFlags,
  env: Environment,
): Promise<ExitCode> {
  const headerPrefix = flagValue(flags.headerPrefix, env, DAEMON_FLAGS.headerPrefix);
  if (as === 'curl') {
    const { curlCommand } = await import('./derive/curl-command.ts');
    const text = curlCommand(call, { url: daemonUrl(flags, env), headerPrefix });
    await writeOut(isTerminal() ? stripFromLines(text) : text);
    return 0;
  }
  const { DRY_RUN_VIEW, dryRun } = await import('./derive/dry-run.ts');
  const printer = createPrinter(flags, env, DRY_RUN_VIEW);
  await printer.print(await dryRun(call, headerPrefix));
  return 0;
}

/** The daemon that is named; no URL when it is a file, or when there is no vault at all. */
function daemonUrl(flags: GlobalFlags, env: Environment): string | undefined {
  const isNamed = [flags.url, flags.file, env['VAULT_URL'], env['VAULT_FILE']].some(Boolean);
  try {
    const door = chooseDoor(flags, env);
    return door.kind === 'remote' ? door.url : undefined;
  } catch (error) {
    if (isNamed || !(error instanceof Fault)) throw error;
    return undefined;
  }
}
