import type { Reply } from '../../../contract/call.ts';

/** Ends an import or an export: a reply that every further request would get, too. */
export class TransferRefused extends Error {
  override readonly name = 'TransferRefused';
  readonly reply: Reply;

  constructor(reply: Reply) {
    super('the transfer was refused');
    this.reply = reply;
  }
}
