import { Fault } from '../core/fault.ts';

/** Whether a person is there to answer: questions go to stderr, so that stdout carries results only. */
export function canPrompt(): boolean {
  return process.stdin.isTTY === true && process.stderr.isTTY === true;
}

/** Whether `-` is somebody's keyboard: a secret is then asked for, since what a terminal reads stands on the screen. */
export function isTypedByHand(path: string): boolean {
  return path === '-' && canPrompt();
}

export async function promptSecret(message: string): Promise<string> {
  const { password } = await import('@inquirer/prompts');
  return password({ message, mask: false }, { output: process.stderr });
}

/** Asks before something is lost. Throws the fault `usage` when the answer is no, or when nobody is there to ask. */
export async function confirmLoss(loss: string): Promise<void> {
  if (!canPrompt()) throw new Fault('usage', 'confirmation required', { hint: `pass --yes to confirm. ${loss}` });
  const { confirm } = await import('@inquirer/prompts');
  const agreed = await confirm({ message: `${loss} Go on?`, default: false }, { output: process.stderr });
  if (!agreed) throw new Fault('usage', 'nothing was done');
}
