import type { Worker } from 'node:worker_threads';
import type { Store } from '../../../core/ports.ts';
import { Problem } from '../../../core/problem.ts';
import type { WriteReply } from './serve-writes.ts';
import { putCall, type WriteName } from './write-calls.ts';
import { errorOf, Outbox } from './write-messages.ts';

/** What the thread posts. */
export type WriterMessage = 'ready' | { readonly replies: readonly WriteReply[] };

interface Call {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** The thread that writes, as the thread sees it that answers calls. */
export class WriterThread {
  /** Resolves when the thread serves. Rejects when it cannot start. */
  readonly ready: Promise<this>;
  readonly #worker: Worker;
  readonly #gone: Promise<void>;
  readonly #calls = new Map<number, Call>();
  #state: 'starts' | 'serves' | 'closes' = 'starts';
  #last = 0;
  #outbox: Outbox | undefined;

  /** A thread that fails while it serves is an error that nobody caught in this process. */
  constructor(worker: Worker) {
    this.#worker = worker;
    this.#gone = new Promise((resolve) => worker.once('exit', () => resolve()));
    this.ready = new Promise((resolve, reject) => {
      worker.on('message', (message: WriterMessage) => {
        if (message === 'ready') {
          this.#state = 'serves';
          resolve(this);
        } else this.#receive(message.replies);
      });
      const lose = (error: Error) => {
        const served = this.#state === 'serves';
        this.#state = 'closes';
        reject(error);
        // These writes may be done and may be not.
        for (const call of this.#calls.values()) call.reject(error);
        this.#calls.clear();
        if (served) throw error;
      };
      worker.on('error', lose);
      worker.on('exit', () => lose(new Error('the thread that writes has ended')));
    });
  }

  get isBusy(): boolean {
    return this.#calls.size > 0;
  }

  /** Resolves, or throws, as the call does on the other thread. */
  write<Name extends WriteName>(name: Name, ...call: Parameters<Store[Name]>) {
    type Result = Awaited<ReturnType<Store[Name]>>;
    return new Promise<Result>((resolve, reject) => {
      if (this.#state === 'closes') throw new Problem('vault_stopping', { retryAfter: 1 });
      // Comes when all calls of this turn have been here: a message of its own for each would take longer than a call.
      if (this.#outbox === undefined) process.nextTick(() => this.#post());
      this.#outbox ??= new Outbox();
      const number = this.#last + 1;
      this.#outbox.whole((out) => {
        out.put(number);
        putCall(out, name, call);
      });
      this.#last = number;
      this.#calls.set(number, { resolve: (result) => resolve(result as Result), reject });
    });
  }

  /** Resolves when the thread has finished what it was asked for and has let go of the file, or is gone. */
  close(): Promise<void> {
    this.#post();
    if (this.#state !== 'closes') this.#worker.postMessage('close');
    this.#state = 'closes';
    return this.#gone;
  }

  #receive(replies: readonly WriteReply[]): void {
    for (const [number, outcome] of replies) {
      const call = this.#calls.get(number);
      this.#calls.delete(number);
      if ('result' in outcome) call?.resolve(outcome.result);
      else call?.reject(errorOf(outcome));
    }
  }

  #post(): void {
    const message = this.#outbox?.message();
    this.#outbox = undefined;
    if (message !== undefined) this.#worker.postMessage(message, [message.bytes]);
  }
}
