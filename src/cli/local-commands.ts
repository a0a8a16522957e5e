import type { Command } from 'commander';
import type { Finish } from './exit-codes.ts';

interface LocalCommand {
  readonly command: readonly [string] | readonly [string, string];
  readonly summary: string;
  /** Gives the subcommand its flags and its action; loaded when the subcommand is called. */
  readonly load: () => Promise<(command: Command, finish: Finish) => void>;
}

/** The subcommands that have no endpoint behind them. */
export const LOCAL_COMMANDS: readonly LocalCommand[] = [
  {
    command: ['init'],
    summary: 'Make an encrypted file, its first tenant and that tenant’s management application',
    load: async () => (await import('./local/init.ts')).defineInit,
  },
  {
    command: ['serve'],
    summary: 'Serve the whole API on the file',
    load: async () => (await import('./local/serve.ts')).defineServe,
  },
  {
    command: ['wait'],
    summary: 'Wait until the daemon is ready',
    load: async () => (await import('./local/wait.ts')).defineWait,
  },
  {
    command: ['tenant', 'create'],
    summary: 'Make another tenant in the file, with its first management application',
    load: async () => (await import('./local/tenants.ts')).defineTenantCreate,
  },
  {
    command: ['tenant', 'list'],
    summary: 'List the tenants of the file',
    load: async () => (await import('./local/tenants.ts')).defineTenantList,
  },
  {
    command: ['tenant', 'issue-key'],
    summary: 'Make a fresh management application: the way back after a lost key',
    load: async () => (await import('./local/tenants.ts')).defineTenantIssueKey,
  },
];
