import { Problem } from '../core/problem.ts';

/** Commands on the vault's file, for a console with the file and its key. Each command resolves to its output. */
export interface HolderCommands {
  verify(): Promise<object>;
  doctor(): Promise<object>;
  keys(): Promise<object>;
  file(): Promise<object>;
}

const METHODS = { verify: 'POST', doctor: 'POST', keys: 'GET', file: 'GET' } as const satisfies Record<
  keyof HolderCommands,
  string
>;

interface HolderRequest {
  readonly method: (typeof METHODS)[keyof HolderCommands];
  /** Runs the command. Throws `route_not_found` if the console has no file, that is, no `holder`. */
  readonly run: (holder: HolderCommands | undefined) => Promise<object>;
}

const REQUESTS = Object.entries(METHODS).map(([name, method]) => {
  const run: HolderRequest['run'] = async (holder) => {
    if (holder !== undefined) return holder[name as keyof HolderCommands]();
    throw new Problem('route_not_found', { detail: 'This console has no vault file and key.' });
  };
  return [`/ui/holder/${name}`, { method, run }] as const;
});

const BY_PATH: ReadonlyMap<string, HolderRequest> = new Map(REQUESTS);

export function findHolderRequest(path: string): HolderRequest | undefined {
  return BY_PATH.get(path);
}
