import type { Command } from 'commander';
import { openApiText } from '../../contract/openapi/openapi.ts';
import { Fault } from '../../core/fault.ts';
import { checkHeaderPrefix } from '../../http/daemon-options.ts';
import type { Finish } from '../exit-codes.ts';
import { addFlags, FLAGS, flag, readFlags, typedFlags } from '../global-flags.ts';
import { addExamples } from '../help.ts';
import { writeOut } from '../output/standard-output.ts';
import { VERSION } from '../version.ts';

const OPENAPI_FLAGS = {
  headerPrefix: FLAGS.daemon.headerPrefix,
  serverUrl: flag('--server-url <url>', 'the URL in `servers` (default: /)'),
};

/** `vault openapi`: prints the OpenAPI document that a daemon serves at /openapi.json. Needs no vault. */
export function defineOpenApi(command: Command, finish: Finish): void {
  addFlags(command, OPENAPI_FLAGS);
  addExamples(command, ['vault openapi > openapi.json', 'vault openapi --server-url http://127.0.0.1:8484']);
  command.action(async () => {
    const { headerPrefix, serverUrl } = readFlags(OPENAPI_FLAGS, typedFlags(command), process.env);
    if (headerPrefix !== undefined) checkHeaderPrefix(headerPrefix);
    if (serverUrl !== undefined && !isServerUrl(serverUrl)) {
      throw new Fault('usage', '--server-url must be an http or https URL without query and fragment');
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
