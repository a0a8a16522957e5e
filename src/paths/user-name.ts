import { readFileSync } from 'node:fs';

/** Returns the name of a user in `/etc/passwd`; `user N` if it has none, as a dynamic user of systemd. */
export function userName(uid: bigint): string {
  return namesOf().get(String(uid)) ?? `user ${uid}`;
}

function namesOf(): ReadonlyMap<string, string> {
  try {
    const rows = readFileSync('/etc/passwd', 'utf8').split('\n').reverse();
    return new Map(rows.map((row) => row.split(':')).map(([name = '', , uid = '']) => [uid, name]));
  } catch {
    return new Map();
  }
}
