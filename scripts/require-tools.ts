/** Reports missing development packages before `npm run build` needs them. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import manifest from '../package.json' with { type: 'json' };

const modules = path.join(path.dirname(import.meta.dirname), 'node_modules');
const missing = ['ajv', 'esbuild', 'typescript'].filter((name) => !existsSync(path.join(modules, name)));
if (missing.length > 0) {
  process.stderr.write(
    `${manifest.name}: the build needs development packages, and these are missing: ${missing.join(', ')}\n` +
      'hint: run `npm ci --include=dev` without NODE_ENV=production; to only use the product, install the package\n',
  );
  process.exitCode = 1;
}
