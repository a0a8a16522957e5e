import type { Command } from 'commander';
import { OPERATIONS, type Operation, type OperationId } from '../../contract/operations.ts';
import type { Finish } from '../exit-codes.ts';
import { addFlags, CONFIRM_FLAGS, DAEMON_FLAGS, FILE_FLAGS, KEY_FLAGS, OUTPUT_FLAGS } from '../global-flags.ts';
import type { CommandInput } from './assemble-call.ts';
import { type FlagKind, type MemberFlag, memberFlags } from './member-flags.ts';

/** Gives the subcommand of an operation its arguments, flags, help and action. Everything comes from the row. */
export function defineOperation(command: Command, id: OperationId, finish: Finish): void {
  const row: Operation = OPERATIONS[id];
  const flags = memberFlags(row);
  for (const name of row.cli.arguments ?? []) {
    command.argument(`<${name}>`, row.params?.properties?.[name]?.description ?? '');
  }
  command.optionsGroup('Members:');
  for (const flag of flags) addMemberFlag(command, flag);
  if (row.body !== undefined)
    command.option('--body <source>', 'The whole body instead: @file, or - for standard input.');
  command.optionsGroup('Vault:');
  addFlags(command, { ...DAEMON_FLAGS, ...FILE_FLAGS, ...KEY_FLAGS });
  command.optionsGroup('Output:');
  addFlags(command, OUTPUT_FLAGS);
  if (row.cli.columns.includes('key')) {
    command.option('--key-out <path>', 'Write the API key to this new file (0600) instead of showing it.');
  }
  if (row.cli.confirm !== undefined) addFlags(command, CONFIRM_FLAGS);
  command.optionsGroup('Other:');
  command.addHelpText('after', () => `\nNeeds the permission ${row.permission}.\n${examples(row)}`);
  command.action(async () => {
    const { runOperation } = await import('../run-operation.ts');
    finish(await runOperation(id, commandInput(command, flags), command));
  });
}

function addMemberFlag(command: Command, flag: MemberFlag): void {
  const words = `--${flag.name} ${PLACEHOLDERS[flag.kind]}`;
  if (!flag.repeatable) {
    command.option(words, flag.help);
    return;
  }
  command.option(words, flag.help, (value: string, before: readonly string[] | undefined) => [
    ...(before ?? []),
    value,
  ]);
}

const PLACEHOLDERS = {
  literal: '<text>',
  text: '<text>',
  number: '<number>',
  boolean: '[bool]',
  json: '<json>',
  pairs: '<name=value>',
} as const satisfies Record<FlagKind, string>;

function commandInput(command: Command, flags: readonly MemberFlag[]): CommandInput {
  const typed = command.opts<Record<string, string | boolean | readonly string[] | undefined>>();
  const members: Record<string, readonly string[]> = {};
  for (const flag of flags) {
    const value = typed[attribute(flag.name)];
    if (value !== undefined) members[flag.name] = typeof value === 'object' ? value : [String(value)];
  }
  const body = typed['body'];
  return { arguments: command.args, members, ...(typeof body === 'string' && { body }) };
}

/** The name under which commander keeps a flag's value. */
function attribute(flagName: string): string {
  return flagName.replace(/-(.)/g, (_dash, letter: string) => letter.toUpperCase());
}

function examples(row: Operation): string {
  return row.cli.examples.length === 0
    ? ''
    : `\nExamples:\n${row.cli.examples.map((line) => `  ${line}`).join('\n')}\n`;
}
