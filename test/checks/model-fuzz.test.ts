import { expect, it } from 'vitest';
import type { Reply } from '../../src/contract/call.ts';
import { fuzz } from './model-fuzz.ts';

// Check 9 makes more calls, with a model that ignores expiry and one that ignores rules as its controls.
it('daemon, file target and model agree on 500 random calls of all operations', { timeout: 60_000 }, async () => {
  const { figures, differences } = await fuzz({ seed: 1, steps: 500 });
  expect(differences).toEqual([]);
  expect(figures).toMatchObject({ steps: 500, server_errors: 0 });
});

it('control: one changed byte of one target is detected', { timeout: 60_000 }, async () => {
  let created = 0;
  const tamper = (reply: Reply): Reply =>
    reply.status === 201 && ++created === 5 ? { ...reply, bodyText: `${reply.bodyText ?? ''} ` } : reply;
  const { differences } = await fuzz({ seed: 2, steps: 200, tamper });
  expect(differences).toHaveLength(1);
});
