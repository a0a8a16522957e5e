import type { Command } from 'commander';
import type { Call, Client } from '../contract/call.ts';
import { OPERATIONS, type Operation, type OperationId } from '../contract/operations.ts';
import { readApiKey } from './api-key.ts';
import { assembleCall, type CommandInput } from './derive/assemble-call.ts';
import { chooseDoor, openDoor } from './door.ts';
import type { ExitCode } from './exit-codes.ts';
import { CONFIRM_FLAGS, isSwitchedOn, typedFlags } from './global-flags.ts';
import { type KeyFile, reserveKeyFile } from './key-out.ts';
import { createPrinter } from './output/print-result.ts';
import type { ResultView } from './output/result-view.ts';
import { confirmLoss } from './prompt.ts';
import { reportProblem } from './report-failure.ts';
import { createTextReader } from './text-reader.ts';

/** One operation from its command line to its exit code. All that can be refused is refused before anything is sent. */
export async function runOperation(id: OperationId, input: CommandInput, command: Command): Promise<ExitCode> {
  const row: Operation = OPERATIONS[id];
  const flags = typedFlags<{ readonly keyOut?: string }>(command);
  const printer = createPrinter(flags, process.env, viewOf(row));
  const door = chooseDoor(flags, process.env);
  const apiKey = await readApiKey(flags, process.env);
  const call = await assembleCall(
    id,
    input,
    createTextReader(() => process.stdin),
  );
  if (row.cli.confirm !== undefined && !isSwitchedOn(flags.yes, process.env, CONFIRM_FLAGS.yes)) {
    await confirmLoss(row.cli.confirm);
  }
  const client = await openDoor(door, flags, process.env);
  try {
    const keyFile = flags.keyOut === undefined ? undefined : await reserveKeyFile(flags.keyOut);
    return await callAndPrint(client, { ...call, apiKey }, keyFile, (bodyText) => printer.print(bodyText));
  } finally {
    await client.close();
  }
}

/** How the results of an operation are shown. */
export function viewOf(row: Operation): ResultView {
  const list = row.result?.properties !== undefined && Object.hasOwn(row.result.properties, 'pagination');
  return { schema: row.result, list, columns: row.cli.columns, rest: true };
}

async function callAndPrint(
  client: Client,
  call: Call,
  keyFile: KeyFile | undefined,
  print: (bodyText: string) => Promise<void>,
): Promise<ExitCode> {
  try {
    const reply = await client.call(call);
    if (reply.status >= 400) return reportProblem(reply);
    if (reply.bodyText === undefined) return 0;
    await print(keyFile === undefined ? reply.bodyText : await keyFile.take(reply.bodyText));
    return 0;
  } finally {
    await keyFile?.discard();
  }
}
