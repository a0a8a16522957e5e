import { untilSwapped } from '../compare-and-swap.ts';
import type { Handler } from '../handler.ts';
import { generateApiKey } from './api-key.ts';
import { findApplication } from './get.ts';
import { sealApplication, showApplication } from './opened-application.ts';

/** Regenerate API Key (§4.2): the previous key is dead on the very next call. */
export const regenerateApplicationKey: Handler<'regenerateApplicationKey'> = async ({ params }, caller, world) => {
  const key = generateApiKey(world.random);
  const application = await untilSwapped(async () => {
    const { record, details } = await findApplication(params.id, caller, world);
    const renewed = sealApplication(
      caller.tenant.keyring,
      {
        ...record,
        key_hash: world.keyring.apiKeyHash(key),
        modified_by: caller.application.record.id,
        modified_at: world.clock.now(),
        revision: record.revision + 1,
      },
      details,
    );
    const audit = caller.trail.changed([record.id], renewed.record.revision);
    return (await world.store.replaceApplication(renewed.record, record.revision, audit)) ? renewed : undefined;
  });
  return showApplication(application, key);
};
