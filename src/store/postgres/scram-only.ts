import type { Client } from 'pg';
import { Fault } from '../../core/fault.ts';

/** RFC 7677. The fewer the iterations, the faster a false server guesses the password from the answer. */
const MIN_ITERATIONS = 4096;

/**
 * Makes a connection without TLS answer only SCRAM, which never sends the password. Cuts the connection before the
 * driver answers another request, with the fault `store_refused`. Watches the connection until its end, because the
 * driver keeps the password and answers later requests, too. Call it before the client connects: the driver then sees
 * each message after this function.
 */
export function answerOnlyScram({ connection }: Client, host: string): void {
  const refuse = (what: string, hint: string) =>
    void connection.stream.destroy(new Fault('store_refused', `${host} asks for ${what} without TLS`, { hint }));
  const useScram = 'use TLS or SCRAM: scram-sha-256 in pg_hba.conf, or as the auth_type of PgBouncer';
  connection.on('authenticationCleartextPassword', () => refuse('the password in clear text', useScram));
  connection.on('authenticationMD5Password', () => refuse('an MD5 hash of the password', useScram));
  connection.on('authenticationSASLContinue', ({ data }: { readonly data: string }) => {
    if (Number(/(?:^|,)i=(\d+)/.exec(data)?.[1] ?? 0) >= MIN_ITERATIONS) return;
    refuse('SCRAM with too few iterations', `use TLS, or set scram_iterations to ${MIN_ITERATIONS} or more`);
  });
}
