import type { Reply } from '../../contract/call.ts';
import type { Operation } from '../../contract/operations.ts';

/** The error of a reply with a problem, which ends the work that needs its result. `hints` are those of the operation. */
export class RefusedReply extends Error {
  override readonly name = 'RefusedReply';
  readonly reply: Reply;
  readonly hints: Operation['cli']['hints'];

  constructor(reply: Reply, hints?: Operation['cli']['hints']) {
    super('the call was refused');
    this.reply = reply;
    this.hints = hints;
  }
}

/** Returns a reply with a result. Throws `RefusedReply` for a problem. */
export function accepted(reply: Reply): Reply {
  if (reply.status >= 400) throw new RefusedReply(reply);
  return reply;
}
