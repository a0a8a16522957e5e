import type { Store } from '../../../core/ports.ts';
import { Problem } from '../../../core/problem.ts';
import { nextTick } from '../../../core/timers.ts';
import { COMMITS, RETRIES } from '../../rows/channels.ts';
import { putCall, type WriteName, type WriteReply } from './write-calls.ts';
import { errorOf, Outbox, type WriteMessage } from './write-messages.ts';

/** A message from the writer. `waits` and `retried` carry what the writer's thread has published on the channels. */
export type WriterMessage =
  | 'ready'
  | 'retried'
  | { readonly waits: readonly number[] }
  | { readonly replies: readonly WriteReply[] };

interface Call {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** The channel to a writing thread or process. The message `close` ends the thread or the connection to the process. */
export interface WriterPort {
  /** Whether the writer is another process. Two writing processes invalidate each other's page cache. */
  readonly leavesProcess?: boolean;
  on(event: 'message', listener: (message: WriterMessage) => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'exit', listener: () => void): unknown;
  postMessage(message: WriteMessage | 'close', transfer: readonly ArrayBuffer[]): void;
}

/** The calling side of a writer, which is a thread or another process. */
export class Writer {
  /** Resolves when the other side is ready. Rejects when it cannot start. */
  readonly ready: Promise<this>;
  readonly #port: WriterPort;
  readonly #gone: Promise<void>;
  readonly #calls = new Map<number, Call>();
  #state: 'starts' | 'serves' | 'closes' = 'starts';
  #last = 0;
  #outbox: Outbox | undefined;

  /** Calls `lost` when the other side fails after it was ready. */
  constructor(port: WriterPort, lost: (error: Error) => void) {
    this.#port = port;
    this.#gone = new Promise((resolve) => port.on('exit', resolve));
    this.ready = new Promise((resolve, reject) => {
      port.on('message', (message: WriterMessage) => {
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
        if (served) lost(error);
      };
      port.on('error', lose);
      port.on('exit', () => lose(new Error('the thread or process that writes has ended')));
    });
  }

  /** Whether every write must go to the other side. Two writing sides would wait for each other's lock. */
  get takesAll(): boolean {
    return this.#port.leavesProcess === true || this.#calls.size > 0;
  }

  /** Calls the store's method `name` on the other side. Resolves or rejects as that call does. */
  write<Name extends WriteName>(name: Name, ...call: Parameters<Store[Name]>) {
    type Result = Awaited<ReturnType<Store[Name]>>;
    return new Promise<Result>((resolve, reject) => {
      if (this.#state === 'closes') throw new Problem('vault_stopping', { retryAfter: 1 });
      // Sends all calls of this turn in one message: a message for each call would take longer than the calls.
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

  /**
   * Ends the writer after it has answered all calls. Resolves when the thread or the connection to the process has
   * ended.
   */
  close(): Promise<void> {
    this.#post();
    const isOpen = this.#state !== 'closes';
    this.#state = 'closes';
    if (isOpen) this.#closeWhenDone();
    return this.#gone;
  }

  #closeWhenDone(): void {
    if (this.#calls.size === 0) this.#port.postMessage('close', []);
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
    if (message !== undefined) this.#port.postMessage(message, [message.bytes]);
  }
}
