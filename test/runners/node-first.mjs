import { mock } from 'node:test';

mock.timers.enable({ now: 0 });
await import('./node.mjs');
mock.timers.reset();
