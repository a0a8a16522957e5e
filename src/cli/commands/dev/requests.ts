import { DEV_PATHS } from '../../../contract/dev-paths.ts';
import { parseJson } from '../../../core/json/parse.ts';
import type { ExitCode } from '../../exit/exit-codes.ts';
import type { ItemPrinter } from '../../output/print-items.ts';
import { itemsOf } from '../../output/result-view.ts';
import { RESULT_VIEWS } from '../../output/result-views.ts';
import { selectField } from '../../output/select-field.ts';
import { onDevDaemon, type Send } from './dev-daemon.ts';

const path = DEV_PATHS.requests;

/** How long the daemon waits for new requests before it replies, in seconds. The daemon accepts no more. */
const WAIT = 25;

/** `vault dev requests`: lists the last requests that the daemon answered. */
export const defineRequestsList = onDevDaemon({
  view: RESULT_VIEWS.requests,
  examples: ['vault dev requests -o table', 'vault dev requests --follow'],
  ask: () => ({ method: 'GET', path }),
  follow,
});

/** Prints the requests, oldest first, then new ones as they arrive. Resolves to the exit code of the first failure. */
async function follow(send: Send, items: ItemPrinter): Promise<ExitCode> {
  for (let after = '0'; ; ) {
    const reply = await send({ method: 'GET', path: `${path}?after=${after}&wait=${WAIT}` });
    if (typeof reply === 'number') return reply;
    const newer = itemsOf(parseJson(reply), RESULT_VIEWS.requests);
    await items.print(newer.toReversed());
    after = String(selectField(newer[0] ?? null, ['id']) ?? after);
  }
}
