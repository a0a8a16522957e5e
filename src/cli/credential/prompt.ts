import type { FaultCode } from '../../contract/faults.ts';
import { Fault } from '../../core/fault.ts';
import { setTimeout } from '../../core/timers.ts';
import { report } from '../exit/report-failure.ts';
import { stripControlCharacters } from '../output/control-characters.ts';

/** Returns whether a person can answer questions. They are printed on stderr, because stdout carries only results. */
export function canPrompt(): boolean {
  return process.stdin.isTTY === true && process.stderr.isTTY === true;
}

/** Returns whether a path is that of the terminal. Then prompt for a secret, because a terminal echoes other input. */
export function isTypedByHand(path: string): boolean {
  return ['-', '/dev/tty', '/dev/stdin'].includes(path) && canPrompt();
}

export async function promptSecret(message: string): Promise<string> {
  const { password } = await import('@inquirer/prompts');
  return password({ message, mask: false }, { output: process.stderr });
}

/** How often a prompt asks for a secret before the command fails. */
const MAX_TRIES = 3;

/** Prompts for a secret. The terminal then shows no typed characters until all tries end. */
type Prompt = (message: string) => Promise<string>;

/**
 * Runs `ask` with a prompt. After a fault with one of these codes, reports the fault and runs `ask` again, at most three
 * times in all. Drops the characters typed while `ask` works, and does not show them.
 */
export async function withTries<Result>(
  codes: readonly FaultCode[],
  ask: (prompt: Prompt) => Promise<Result>,
): Promise<Result> {
  const prompt: Prompt = (message) => promptSecret(message).finally(() => process.stdin.setRawMode(true));
  try {
    for (let left = MAX_TRIES - 1; ; left -= 1) {
      try {
        return await ask(prompt);
      } catch (error) {
        if (left === 0 || !(error instanceof Fault) || !codes.includes(error.code)) throw error;
        report(error.message);
      } finally {
        await dropTypedAhead();
      }
    }
  } finally {
    process.stdin.setRawMode(false);
  }
}

/** Asks a question on the terminal. Resolves to the answer; Enter alone means no. */
export async function askYes(message: string): Promise<boolean> {
  const { confirm } = await import('@inquirer/prompts');
  return confirm({ message, default: false }, { output: process.stderr });
}

/** The byte of Ctrl-C, which raises no signal while a prompt keeps the echo off. */
const CTRL_C = 3;

/** How long keys that were pressed earlier may take to arrive, in milliseconds. */
const TYPED_AHEAD_MS = 50;

/** Drops the keys that were typed before a question, so that they do not answer it. Ctrl-C ends the process. */
export async function dropTypedAhead(): Promise<void> {
  const { stdin } = process;
  const drop = (keys: Buffer) => {
    if (keys.includes(CTRL_C)) process.kill(process.pid, 'SIGINT');
  };
  stdin.on('data', drop).resume();
  await new Promise((resolve) => setTimeout(resolve, TYPED_AHEAD_MS));
  stdin.off('data', drop).pause();
}

/** Asks for confirmation of a loss. Rejects with the fault `usage` when the answer is no, or without a terminal. */
export async function confirmLoss(loss: string): Promise<void> {
  if (!canPrompt()) throw new Fault('usage', 'confirmation required', { hint: `pass --yes to confirm. ${loss}` });
  if (!(await askYes(`${stripControlCharacters(loss)} Continue?`))) throw new Fault('usage', 'nothing was done');
}
