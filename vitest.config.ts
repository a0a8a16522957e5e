import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // They need a browser: npm run check:console.
    exclude: ['test/console/**'],
    // Processes, not threads: each opens files and starts daemons of its own, and a native module is loaded in most.
    pool: 'forks',
    isolate: false,
    // One more than the two cores: some files mostly wait for processes, signals and locks.
    maxWorkers: 3,
    testTimeout: 20_000,
    hookTimeout: 20_000,
  },
});
