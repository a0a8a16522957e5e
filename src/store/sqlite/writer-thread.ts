import { Problem } from '../../core/problem.ts';
import type { WriteName, WriteReply } from './serve-writes.ts';
import { errorOf, Outbox, type WriteMessage } from './write-messages.ts';

/** The way to a thread that writes. */
export interface WriterPort {
  post(message: WriteMessage): void;
  /** Resolves when the thread has finished what it was asked for and has let go of the file, or is gone. */
  close(): Promise<void>;
}

interface Call {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** The thread that writes, as the thread sees it that answers calls. */
export class WriterThread {
  readonly #port: WriterPort;
  readonly #calls = new Map<number, Call>();
  #last = 0;
  #outbox: Outbox | undefined;
  #closing: Promise<void> | undefined;

  constructor(port: WriterPort) {
    this.#port = port;
  }

  get isBusy(): boolean {
    return this.#calls.size > 0;
  }

  /** Resolves, or throws, as the call does on the other thread; `members` puts what that takes out (serve-writes.ts). */
  write<T>(name: WriteName, members: (out: Outbox) => void): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.#closing !== undefined) throw new Problem('vault_stopping', { retryAfter: 1 });
      // Comes when all calls of this turn have been here: a message of its own for each would take longer than a call.
      if (this.#outbox === undefined) process.nextTick(() => this.#post());
      this.#outbox ??= new Outbox();
      const number = this.#last + 1;
      this.#outbox.whole((out) => {
        out.put(number, name);
        members(out);
      });
      this.#last = number;
      this.#calls.set(number, { resolve: (result) => resolve(result as T), reject });
    });
  }

  receive(replies: readonly WriteReply[]): void {
    for (const [number, outcome] of replies) {
      const call = this.#calls.get(number);
      this.#calls.delete(number);
      if ('result' in outcome) call?.resolve(outcome.result);
      else call?.reject(errorOf(outcome));
    }
  }

  /** The thread is gone. What it was asked for may be done and may be not. */
  lose(error: unknown): void {
    this.#closing ??= Promise.resolve();
    for (const { reject } of this.#calls.values()) reject(error);
    this.#calls.clear();
  }

  close(): Promise<void> {
    this.#post();
    this.#closing ??= this.#port.close();
    return this.#closing;
  }

  #post(): void {
    const message = this.#outbox?.message();
    this.#outbox = undefined;
    if (message !== undefined) this.#port.post(message);
  }
}
