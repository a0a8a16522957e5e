import { Fault } from '../core/fault.ts';

/** Returns whether a person can answer: questions go to stderr, so that stdout carries results only. */
export function canPrompt(): boolean {
  return process.stdin.isTTY === true && process.stderr.isTTY === true;
}

/** Returns whether `-` is a keyboard: then the secret is asked for, since a terminal shows what it reads. */
export function isTypedByHand(path: string): boolean {
  return path === '-' && canPrompt();
}

export async function promptSecret(message: string): Promise<string> {
  const { password } = await import('@inquirer/prompts');
  return password({ message, mask: false }, { output: process.stderr });
}

/** Asks before something is lost. Throws the fault `usage` when the answer is no, or without a terminal. */
export async function confirmLoss(loss: string): Promise<void> {
  if (!canPrompt()) throw new Fault('usage', 'confirmation required', { hint: `pass --yes to confirm. ${loss}` });
  const { confirm } = await import('@inquirer/prompts');
  const agreed = await confirm({ message: `${loss} Go on?`, default: false }, { output: process.stderr });
  if (!agreed) throw new Fault('usage', 'nothing was done');
}
