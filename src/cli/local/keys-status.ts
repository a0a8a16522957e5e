import type { Command } from 'commander';
import type { Finish } from '../exit-codes.ts';
import { KEYS_VIEWS } from './keys-view.ts';
import { defineWithAdmin } from './with-admin.ts';

/** `vault keys status`: the generation of the master key, and each tenant's keys. */
export function defineKeysStatus(command: Command, finish: Finish): void {
  defineWithAdmin(command, finish, KEYS_VIEWS.status, async () => (admin) => admin.status());
  command.addHelpText(
    'after',
    '\n`stale` counts records that an unfinished rotation left: run `vault keys rotate` again.',
  );
}
