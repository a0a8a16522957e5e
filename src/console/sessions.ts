import { createHash, randomBytes, randomInt, timingSafeEqual } from 'node:crypto';
import { setTimeout } from '../core/timers.ts';
import type { Identities } from './identities.ts';

const SECRET_BYTES = 32;
/** How long a code or a question to the terminal is valid, in milliseconds. */
const CODE_MS = 2 * 60_000;
/** How long a poll waits for the answer at the terminal, in milliseconds. */
const POLL_MS = 20_000;

export interface SessionOptions {
  /** A monotonic clock, in milliseconds. */
  readonly now: () => number;
  /** How long a session lasts without an action of the user, and in total, in milliseconds. */
  readonly idleMs: number;
  readonly lifeMs: number;
  /** The code in the link of the page. With `once`, it opens one session, at most two minutes after `madeAt`. */
  readonly code: { readonly text: string; readonly life: 'once' | 'always'; readonly madeAt: number };
  /** Asks the user at the terminal to confirm the number that the page shows. If absent, the code suffices. */
  readonly confirm?: ((number: string) => Promise<boolean>) | undefined;
  readonly identities: () => Identities;
  /** Called when a session has ended. */
  readonly ended?: ((session: ConsoleSession) => void) | undefined;
}

/** An open page. Only hashes of its two secrets are stored (design of the console, §5.2). */
export interface ConsoleSession {
  readonly cookie: Buffer;
  readonly secret: Buffer;
  readonly startedAt: number;
  activeAt: number;
  readonly identities: Identities;
}

/**
 * The result of a valid code: a session with its two secrets, or a number to confirm at the terminal with a secret for
 * polling, or `refused`.
 */
export type Opened =
  | { readonly session: ConsoleSession; readonly cookie: string; readonly secret: string }
  | { readonly number: string; readonly wait: string }
  | 'refused';

interface Question {
  readonly number: string;
  readonly wait: string;
  readonly hash: Buffer;
  readonly endsAt: number;
  readonly answer: Promise<boolean>;
}

/** Creates the store of the code, the questions to the terminal, and the sessions. Keeps them only in memory. */
export function createSessions({ now, idleMs, lifeMs, code, confirm, identities, ended }: SessionOptions) {
  const codeHash = hashOf(code.text);
  let codeEndsAt = code.life === 'once' ? code.madeAt + CODE_MS : Number.POSITIVE_INFINITY;
  let questions: readonly Question[] = [];
  const sessions = new Set<ConsoleSession>();

  function start(): Opened {
    const [cookie, secret] = [randomSecret(), randomSecret()];
    const at = now();
    const session = {
      cookie: hashOf(cookie),
      secret: hashOf(secret),
      startedAt: at,
      activeAt: at,
      identities: identities(),
    };
    sessions.add(session);
    return { session, cookie, secret };
  }

  function end(session: ConsoleSession): void {
    if (sessions.delete(session)) ended?.(session);
  }

  function ask(question: (number: string) => Promise<boolean>): Opened {
    const number = String(randomInt(10_000)).padStart(4, '0');
    const wait = randomSecret();
    // A failed question counts as a no.
    const answer = question(number).catch(() => false);
    questions = [...questions, { number, wait, hash: hashOf(wait), endsAt: now() + CODE_MS, answer }];
    return { number, wait };
  }

  return {
    /** Opens a session, or asks the terminal first. Returns undefined for a code that is wrong, used or expired. */
    open(sent: string): Opened | undefined {
      if (!isSame(codeHash, sent) || now() >= codeEndsAt) return undefined;
      if (code.life === 'once') codeEndsAt = 0;
      return confirm === undefined ? start() : ask(confirm);
    },

    /** Waits at most 20 s for the answer at the terminal. Resolves to undefined for an unknown or expired `wait`. */
    async awaitAnswer(wait: string): Promise<Opened | undefined> {
      questions = questions.filter(({ endsAt }) => now() < endsAt);
      const question = questions.find(({ hash }) => isSame(hash, wait));
      if (question === undefined) return undefined;
      const pending = new Promise<'pending'>((resolve) => setTimeout(resolve, POLL_MS, 'pending').unref());
      const answer = await Promise.race([question.answer, pending]);
      if (answer === 'pending') return { number: question.number, wait };
      // Only one of several concurrent polls gets the session.
      if (!questions.includes(question)) return undefined;
      questions = questions.filter((each) => each !== question);
      return answer ? start() : 'refused';
    },

    /**
     * Returns the session with one of the cookies and the secret, if there is one. `isActive` restarts its idle time.
     */
    find(cookies: readonly string[], secret: string | undefined, isActive: boolean): ConsoleSession | undefined {
      const at = now();
      for (const each of sessions) {
        if (at - each.activeAt >= idleMs || at - each.startedAt >= lifeMs) end(each);
      }
      if (secret === undefined) return undefined;
      // Hash the secrets once, since a console may have thousands of sessions.
      const [secretHash, ...cookieHashes] = [secret, ...cookies].map(hashOf);
      const found = [...sessions].find(
        (each) =>
          secretHash !== undefined &&
          timingSafeEqual(each.secret, secretHash) &&
          cookieHashes.some((hash) => timingSafeEqual(each.cookie, hash)),
      );
      if (found !== undefined && isActive) found.activeAt = at;
      return found;
    },

    lock: end,
  };
}

function randomSecret(): string {
  return randomBytes(SECRET_BYTES).toString('base64url');
}

function hashOf(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}

function isSame(hash: Buffer, secret: string): boolean {
  return timingSafeEqual(hash, hashOf(secret));
}
