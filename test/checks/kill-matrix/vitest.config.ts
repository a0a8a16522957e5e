import { defineConfig, mergeConfig } from 'vitest/config';
import configOf from '../../../vitest.config.ts';

/**
 * The normal test run with a setup file. Node loads the sources itself when V8 counts, so that its offsets match them.
 */
export default defineConfig((env) =>
  mergeConfig(configOf(env), {
    test: {
      maxWorkers: 1,
      setupFiles: ['test/checks/kill-matrix/setup.ts'],
      experimental: { viteModuleRunner: process.env['NODE_V8_COVERAGE'] === undefined },
    },
  }),
);
