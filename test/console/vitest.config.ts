import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/console/**/*.test.ts'],
    globalSetup: 'test/console/require-chromium.ts',
    pool: 'forks',
    isolate: false,
    // Each test mostly waits for the browser.
    maxWorkers: 3,
    expect: { poll: { timeout: 15_000 } },
    // A browser on a busy machine may be late once.
    retry: 1,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
