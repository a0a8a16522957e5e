import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { ROOT } from './build-output.js';
import { bundleSources, makeOwnFolder } from './bundle-sources.js';

/** What of the sources counts for which step; `factory` where the export makes what is called. */
const TIMED = {
  'core/authenticate.ts': { createAuthenticator: { step: 'authenticate', factory: true } },
  'core/access/grants.ts': { holds: { step: 'authorize' } },
  'core/access/governing-transform.ts': {
    governingTransform: { step: 'authorize' },
    reachesEveryContainer: { step: 'authorize' },
  },
  'core/request/parse-body.ts': { parseBody: { step: 'parse' } },
  'core/request/validate.ts': { validate: { step: 'validate' } },
  'core/token-types/validate-data.ts': { validateData: { step: 'validate' } },
  'core/tokens/derive.ts': { derive: { step: 'mask, fingerprint' } },
  'core/tokens/indexes.ts': { tokenIndexes: { step: 'blind indexes' } },
  'core/tokens/opened-token.ts': {
    sealToken: { step: 'seal' },
    openDetails: { step: 'open' },
    openShownDetails: { step: 'open' },
    openDefinition: { step: 'open' },
    openText: { step: 'open' },
  },
  'core/tokens/show-token.ts': { showToken: { step: 'present' } },
  'core/json/stringify.ts': { stringifyJson: { step: 'stringify' } },
  'core/audit/trail.ts': { createTrail: { step: 'audit', factory: true } },
};

/** What the measuring needs to get hold of. */
const ENTRY = `
export { createVault, composeVault } from './src/vault.ts';
export { openVaultFile } from './src/store/sqlite/open-vault-file.ts';
export { followMasterKey } from './src/keyring/follow-master-key.ts';
export * from './scripts/bench-timer.js';
`;

const SOURCES = path.join(ROOT, 'src');
const TIMER = path.join(ROOT, 'scripts', 'bench-timer.js');

/** Puts a module in front of each of `TIMED` that counts what it exports. The sources stay as they are. */
function timedModules(seen) {
  return {
    name: 'timed-modules',
    setup(hooks) {
      hooks.onResolve({ filter: /^\.\.?\// }, ({ path: specifier, resolveDir, namespace }) => {
        if (namespace === 'timed') return;
        const file = path.resolve(resolveDir, specifier);
        const name = path.relative(SOURCES, file).split(path.sep).join('/');
        return Object.hasOwn(TIMED, name) ? { path: file, namespace: 'timed', pluginData: name } : undefined;
      });
      hooks.onLoad({ filter: /.*/, namespace: 'timed' }, ({ path: file, pluginData: name }) => {
        seen.add(name);
        const counted = Object.entries(TIMED[name]).map(([member, { step, factory = false }]) => {
          const wrap = factory ? 'timedFactory' : 'timed';
          return `export const ${member} = ${wrap}(${JSON.stringify(step)}, source.${member});`;
        });
        const own = `./${path.basename(file)}`;
        return {
          contents: [
            `import { timed, timedFactory } from ${JSON.stringify(TIMER)};`,
            `import * as source from ${JSON.stringify(own)};`,
            `export * from ${JSON.stringify(own)};`,
            ...counted,
          ].join('\n'),
          resolveDir: path.dirname(file),
        };
      });
    },
  };
}

/** The product's sources, with timers around the steps; `work` is given what `ENTRY` exports. */
export async function withTimedSources(work) {
  const { folder: outdir, remove } = makeOwnFolder('steps');
  const seen = new Set();
  try {
    await bundleSources({
      stdin: { contents: ENTRY, resolveDir: ROOT, sourcefile: 'steps.js' },
      outdir,
      entryNames: 'steps',
      plugins: [timedModules(seen)],
      logOverride: { 'import-is-undefined': 'error' },
    });
    const missing = Object.keys(TIMED).filter((name) => !seen.has(name));
    if (missing.length > 0) throw new Error(`nothing imports src/${missing[0]}: scripts/bench-timed-build.js names it`);
    return await work(await import(pathToFileURL(path.join(outdir, 'steps.mjs')).href));
  } finally {
    remove();
  }
}
