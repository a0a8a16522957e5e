import { OWN_PATHS, type OwnPath } from './allowed-methods.ts';
import type { DaemonOptions } from './daemon-options.ts';

/** The bodies of the daemon's own paths, as JSON text. `readyz` rejects while the vault cannot answer. */
export function createOwnAnswers({
  version,
  headerPrefix,
  ready,
}: Pick<DaemonOptions, 'version' | 'headerPrefix' | 'ready'>): Readonly<Record<OwnPath, () => Promise<string>>> {
  const root = JSON.stringify({
    name: 'token-vault',
    description: 'A token vault: sensitive data in, tokens out.',
    version,
    openapi: OWN_PATHS.openapi,
    live: OWN_PATHS.livez,
    ready: OWN_PATHS.readyz,
  });
  const livez = JSON.stringify({ status: 'live', version });
  const readyz = JSON.stringify({ status: 'ready' });
  let document: Promise<string> | undefined;

  return {
    root: async () => root,
    // Made when it is first asked for: most daemons never are.
    openapi: () => {
      document ??= import('../contract/openapi.ts').then(({ openApiText }) => openApiText({ version, headerPrefix }));
      return document;
    },
    livez: async () => livez,
    readyz: () => ready().then(() => readyz),
  };
}
