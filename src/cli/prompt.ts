import { Fault } from '../core/fault.ts';

/** Returns whether a person can answer. Questions go to stderr, so that stdout carries only results. */
export function canPrompt(): boolean {
  return process.stdin.isTTY === true && process.stderr.isTTY === true;
}

/** Returns whether `-` is a keyboard. Prompt for the secret then: a terminal echoes plain input. */
export function isTypedByHand(path: string): boolean {
  return path === '-' && canPrompt();
}

export async function promptSecret(message: string): Promise<string> {
  const { password } = await import('@inquirer/prompts');
  return password({ message, mask: false }, { output: process.stderr });
}

/** Asks on the terminal. Enter alone means no. */
export async function askYes(message: string): Promise<boolean> {
  const { confirm } = await import('@inquirer/prompts');
  return confirm({ message, default: false }, { output: process.stderr });
}

/** Milliseconds in which keys that were pressed earlier arrive. */
const TYPED_AHEAD_MS = 50;

/** Drops what was typed before a question, so that it does not answer the question. */
export async function dropTypedAhead(): Promise<void> {
  process.stdin.resume();
  await new Promise((resolve) => setTimeout(resolve, TYPED_AHEAD_MS));
  process.stdin.pause();
}

/** Asks before something is lost. Throws the fault `usage` when the answer is no, or without a terminal. */
export async function confirmLoss(loss: string): Promise<void> {
  if (!canPrompt()) throw new Fault('usage', 'confirmation required', { hint: `pass --yes to confirm. ${loss}` });
  if (!(await askYes(`${loss} Go on?`))) throw new Fault('usage', 'nothing was done');
}
