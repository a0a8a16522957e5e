/** Removes the output of `npm run build`, and the coverage report. */
import { globSync, rmSync } from 'node:fs';
import { ROOT } from './build-output.ts';

const made = globSync(['dist', 'coverage', 'src/**/*.generated.js'], { cwd: ROOT });
for (const name of made) rmSync(new URL(`../${name}`, import.meta.url), { recursive: true });
