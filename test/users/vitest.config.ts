import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/users/**/*.test.ts', 'test/bench/**/*.test.ts'],
    globalSetup: 'test/postgres/global-setup.ts',
    pool: 'forks',
    isolate: false,
    // Each test mostly waits for commands and installations.
    maxWorkers: 2,
    testTimeout: 20_000,
    hookTimeout: 20_000,
  },
});
