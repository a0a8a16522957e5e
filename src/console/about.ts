import type { Application } from '../contract/application.ts';

/** An API key that the server half keeps for this session. The page never gets the key. */
export type HeldIdentity = {
  readonly n: number;
  /** The source of the key, which names it while its application is unknown: a file, a profile or a variable. */
  readonly source: string;
  /** The flag that gives a command this key, quoted for a shell. Absent for a key that is in a variable. */
  readonly flag?: string;
  /** The variable that holds the key. Default, without `flag`: `VAULT_API_KEY`. */
  readonly variable?: string;
  /** Whether the vault no longer accepts the key. */
  readonly ended?: true;
} & Partial<Pick<Application, 'id' | 'name' | 'type' | 'permissions' | 'rules'>>;

/** The words with which command lines reach the vault of a console, quoted for a shell. */
export interface ConsoleCommands {
  /** The flags of an operation. Absent when the daemon itself serves the console, at the page's own address. */
  readonly vault?: string;
  /** The flags of a command on the file. Absent without the file. */
  readonly file?: string;
  /** Whether the file ends with its daemon, so that no command can name it. */
  readonly temporary?: true;
  /** The command that opens the console again. */
  readonly console: string;
}

/** The reply of `GET /ui/session`. */
export interface About {
  readonly url: string;
  readonly header_prefix: string;
  readonly dev: boolean;
  /** The audit level of the vault. Absent for a vault behind a daemon. */
  readonly audit_level?: string;
  /** Whether the console has the key of the file. */
  readonly file: boolean;
  readonly commands: ConsoleCommands;
  readonly identities: readonly HeldIdentity[];
}
