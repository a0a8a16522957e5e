import type { Client } from '../../contract/call.ts';
import type { Permission } from '../../contract/permissions.ts';
import { listEvery, type SeedCalls, seedCalls } from './seed-calls.ts';

const NAME = 'vault seed apply (temporary)';
/** Nobody applies a seed for longer: one that is older was left by an apply that was killed. */
const LEFT_BEHIND_MS = 60 * 60 * 1000;

const RIGHTS: Readonly<Record<'read' | 'write', readonly Permission[]>> = {
  read: ['token:read'],
  write: ['token:create', 'token:read', 'token:update', 'token:delete'],
};

/**
 * Does `work` as a private application that lives only for it: whoever may manage applications has no right to tokens, and the
 * keys of the applications of an earlier apply are not known. Its own key never leaves this process.
 */
export async function asApplicant<T>(
  client: Client,
  management: SeedCalls,
  rights: keyof typeof RIGHTS,
  work: (calls: SeedCalls) => Promise<T>,
): Promise<T> {
  await removeLeftBehind(management);
  const rule = { description: NAME, priority: 1, container: '/', transform: 'reveal', permissions: RIGHTS[rights] };
  const made = await management('createApplication', { body: { name: NAME, type: 'private', rules: [rule] } });
  try {
    return await work(seedCalls(client, String(made['key'])));
  } finally {
    await management('deleteApplication', { id: String(made['id']) });
  }
}

async function removeLeftBehind(management: SeedCalls): Promise<void> {
  for (const app of await listEvery(management, 'listApplications')) {
    const age = Date.now() - Date.parse(String(app['created_at']));
    if (app['name'] !== NAME || app['type'] !== 'private' || age < LEFT_BEHIND_MS) continue;
    await management('deleteApplication', { id: String(app['id']) });
  }
}
