/** Commands on the vault's file, for a console with the file and its key. Each command resolves to its output. */
export interface HolderCommands {
  verify(): Promise<object>;
  doctor(): Promise<object>;
  keys(): Promise<object>;
  file(): Promise<object>;
}

/** The method of the request for each command. */
export const HOLDER_METHODS = { verify: 'POST', doctor: 'POST', keys: 'GET', file: 'GET' } as const satisfies Record<
  keyof HolderCommands,
  string
>;

export const isHolderCommand = (name: string): name is keyof HolderCommands => Object.hasOwn(HOLDER_METHODS, name);
