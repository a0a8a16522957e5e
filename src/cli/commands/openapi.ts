import { openApiText } from '../../contract/openapi/openapi.ts';
import { Fault } from '../../core/fault.ts';
import { checkHeaderPrefix } from '../../http/daemon-options.ts';
import { FLAGS, flag } from '../flags/global-flags.ts';
import { VERSION } from '../help/version.ts';
import { writeOut } from '../output/standard-output.ts';
import { subcommand } from './subcommand.ts';

const OPENAPI_FLAGS = {
  headerPrefix: FLAGS.daemon.headerPrefix,
  serverUrl: flag('--server-url <url>', 'the URL in `servers` (default: /)'),
};

/** `vault openapi`: prints the OpenAPI document that a daemon serves at /openapi.json. Needs no vault. */
export const defineOpenApi = subcommand({
  flags: OPENAPI_FLAGS,
  examples: ['vault openapi > openapi.json', 'vault openapi --server-url http://127.0.0.1:8484'],
  async run({ read }) {
    const { headerPrefix, serverUrl } = read(OPENAPI_FLAGS);
    if (headerPrefix !== undefined) checkHeaderPrefix(headerPrefix);
    if (serverUrl !== undefined && !isServerUrl(serverUrl)) {
      throw new Fault('usage', '--server-url must be an http or https URL without query and fragment');
    }
    await writeOut(openApiText({ version: VERSION, headerPrefix, serverUrl }));
    return 0;
  },
});

function isServerUrl(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) && url.search === '' && url.hash === '';
}
