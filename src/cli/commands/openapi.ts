import type { Command } from 'commander';
import { openApiText } from '../../contract/openapi/openapi.ts';
import { Fault } from '../../core/fault.ts';
import { checkHeaderPrefix } from '../../http/daemon-options.ts';
import type { Finish } from '../exit-codes.ts';
import { addFlags, DAEMON_FLAGS, flagValue, typedFlags } from '../global-flags.ts';
import { writeOut } from '../output/write-out.ts';
import { VERSION } from '../version.ts';

const OPENAPI_FLAGS = {
  headerPrefix: DAEMON_FLAGS.headerPrefix,
  serverUrl: {
    flag: '--server-url <url>',
    env: 'VAULT_SERVER_URL',
    help: 'where the API is, for `servers` (default: /, where the document came from)',
  },
} as const;

/** `vault openapi`: the document that a daemon serves at /openapi.json, through neither target. */
export function defineOpenApi(command: Command, finish: Finish): void {
  addFlags(command, OPENAPI_FLAGS);
  command.action(async () => {
    const flags = typedFlags<{ readonly serverUrl?: string }>(command);
    const headerPrefix = flagValue(flags.headerPrefix, process.env, OPENAPI_FLAGS.headerPrefix);
    const serverUrl = flagValue(flags.serverUrl, process.env, OPENAPI_FLAGS.serverUrl);
    if (headerPrefix !== undefined) checkHeaderPrefix(headerPrefix);
    if (serverUrl !== undefined && !isServerUrl(serverUrl)) {
      throw new Fault('usage', '--server-url is an http or https URL without query and fragment');
    }
    await writeOut(openApiText({ version: VERSION, headerPrefix, serverUrl }));
    finish(0);
  });
}

function isServerUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, search, hash } = new URL(text);
  return (protocol === 'http:' || protocol === 'https:') && search === '' && hash === '';
}
