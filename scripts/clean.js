/** Removes what scripts/build.js made. */
import { readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { ROOT } from './build-output.js';

const core = path.join(ROOT, 'src/core');
const generated = (await readdir(core)).filter((name) => /\.generated\.(js|d\.ts)$/.test(name));
const targets = [
  ...generated.map((name) => path.join(core, name)),
  path.join(ROOT, 'dist'),
  path.join(ROOT, 'coverage'),
];
await Promise.all(targets.map((target) => rm(target, { recursive: true, force: true })));
