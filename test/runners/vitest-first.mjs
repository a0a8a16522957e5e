import { vi } from 'vitest';

vi.useFakeTimers({ now: 0 });
await import('./vitest.mjs');
