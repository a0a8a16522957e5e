import type { Reply } from '../../../contract/call.ts';

/** The error that stops an import or export, because every further request would get the same reply. */
export class TransferRefused extends Error {
  override readonly name = 'TransferRefused';
  readonly reply: Reply;

  constructor(reply: Reply) {
    super('the transfer was refused');
    this.reply = reply;
  }
}
