import type { Worker } from 'node:worker_threads';
import type { Store } from '../../../core/ports.ts';
import { Problem } from '../../../core/problem.ts';
import { nextTick } from '../../../core/timers.ts';
import { COMMITS, RETRIES } from '../../rows/channels.ts';
import { putCall, type WriteName, type WriteReply } from './write-calls.ts';
import { errorOf, Outbox } from './write-messages.ts';

/** A message from the writer thread. `waits` and `retried` carry what that thread has published on the channels. */
export type WriterMessage =
  | 'ready'
  | 'retried'
  | { readonly waits: readonly number[] }
  | { readonly replies: readonly WriteReply[] };

interface Call {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** The calling side of the writer thread. A failure of the ready thread is an uncaught error of this process. */
export class Writer {
  /** Resolves when the thread is ready. Rejects when it cannot start. */
  readonly ready: Promise<this>;
  readonly #thread: Worker;
  readonly #gone: Promise<void>;
  readonly #calls = new Map<number, Call>();
  #state: 'starts' | 'serves' | 'closes' = 'starts';
  #last = 0;
  #outbox: Outbox | undefined;

  constructor(thread: Worker) {
    this.#thread = thread;
    this.#gone = new Promise((resolve) => thread.on('exit', () => resolve()));
    this.ready = new Promise((resolve, reject) => {
      thread.on('message', (message: WriterMessage) => {
        if (message === 'ready') {
          this.#state = 'serves';
          resolve(this);
        } else if (message === 'retried') RETRIES.publish(undefined);
        else if ('waits' in message) COMMITS.publish(message.waits);
        else this.#receive(message.replies);
      });
      const lose = (error: Error) => {
        const served = this.#state === 'serves';
        this.#state = 'closes';
        reject(error);
        // It is unknown whether these writes were committed.
        for (const call of this.#calls.values()) call.reject(error);
        this.#calls.clear();
        if (served) throw error;
      };
      thread.on('error', lose);
      thread.on('exit', () => lose(new Error('the thread that writes has ended')));
    });
  }

  /** Whether the thread is writing. Then every write must go to it: two threads would wait for each other's lock. */
  get isWriting(): boolean {
    return this.#calls.size > 0;
  }

  /** Calls the store's method `name` in the thread. Resolves or rejects as that call does. */
  write<Name extends WriteName>(name: Name, ...call: Parameters<Store[Name]>) {
    type Result = Awaited<ReturnType<Store[Name]>>;
    return new Promise<Result>((resolve, reject) => {
      if (this.#state === 'closes') throw new Problem('vault_stopping', { retryAfter: 1 });
      // Sends all calls of this tick in one message: a message for each call would take longer than the calls.
      if (this.#outbox === undefined) nextTick(() => this.#post());
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

  /** Ends the thread after it has answered all calls. Resolves when it has ended. */
  close(): Promise<void> {
    this.#post();
    const isOpen = this.#state !== 'closes';
    this.#state = 'closes';
    if (isOpen) this.#closeWhenDone();
    return this.#gone;
  }

  #closeWhenDone(): void {
    if (this.#calls.size === 0) this.#thread.postMessage('close');
  }

  #receive(replies: readonly WriteReply[]): void {
    for (const [number, outcome] of replies) {
      const call = this.#calls.get(number);
      this.#calls.delete(number);
      if ('result' in outcome) call?.resolve(outcome.result);
      else call?.reject(errorOf(outcome));
    }
    if (this.#state === 'closes') this.#closeWhenDone();
  }

  #post(): void {
    const message = this.#outbox?.message();
    this.#outbox = undefined;
    if (message !== undefined) this.#thread.postMessage(message, [message.bytes]);
  }
}
