import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const SENDER = fileURLToPath(new URL('accounts-sender.mjs', import.meta.url));

export interface Traffic {
  readonly port: number;
  readonly connections: number;
  /** The bytes of the connections, in turn. */
  readonly texts: readonly string[];
  /** Reads the replies. Default: leaves them unread. */
  readonly reads?: boolean;
  /** Sends one more byte a second on each connection. */
  readonly drips?: boolean;
  /** Ends all connections and opens as many again, three times a second. */
  readonly repeats?: boolean;
}

/** Sends traffic from a process of its own, so that sending does not delay measurements. Resolves when all is sent. */
export async function send(traffic: Traffic) {
  const child = spawn(process.execPath, [SENDER], { stdio: ['pipe', 'pipe', 'inherit'] });
  let statuses: Readonly<Record<string, number>> = {};
  child.stdin.on('error', () => undefined);
  child.stdin.end(JSON.stringify(traffic));
  child.stdout.setEncoding('utf8').on('data', (lines: string) => {
    statuses = JSON.parse(lines.trimEnd().split('\n').at(-1) ?? '{}');
  });
  await once(child.stdout, 'data');
  return {
    statuses: () => statuses,
    replies: () => Object.values(statuses).reduce((sum, count) => sum + count, 0),
    end: () => void child.kill('SIGKILL'),
  };
}
