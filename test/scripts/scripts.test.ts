import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { OPERATIONS, type Operation } from '../../src/contract/operations.ts';
import { runScript } from './run-script.ts';
import { parseScript, type Script, withOutputs } from './script.ts';

const FOLDER = new URL('.', import.meta.url);
const SCRIPTS: readonly (readonly [name: string, script: Script])[] = readdirSync(FOLDER)
  .filter((name) => name.endsWith('.txt'))
  .map((name) => [name, parseScript(readFileSync(new URL(name, FOLDER), 'utf8'))]);

/** The transcript whose direct run starts a process for each command. */
const OWN_PROCESSES = 'exit-codes.txt';

describe.each(SCRIPTS)('%s', (name, script) => {
  it('prints the expected output through both targets', { timeout: 120_000 }, async () => {
    const [direct, daemon] = await Promise.all([
      runScript(script, 'direct', name === OWN_PROCESSES),
      runScript(script, 'daemon'),
    ]);
    expect(daemon).toEqual(direct);
    if (process.env['UPDATE_SCRIPTS'] === '1') writeFileSync(new URL(name, FOLDER), withOutputs(script, direct));
    else expect(withOutputs(script, direct)).toBe(readFileSync(new URL(name, FOLDER), 'utf8'));
  });
});

describe('the scripts', () => {
  const commands = SCRIPTS.flatMap(([, script]) => script.steps.map((step) => step.command));

  it.each(Object.entries<Operation>(OPERATIONS))('cover the operation %s', (_id, row) => {
    const { command: words, sharing } = row.cli;
    const isOf = (command: string) => `${command} `.includes(`vault ${words.join(' ')} `);
    const chooses = (command: string) =>
      sharing === undefined || command.includes(` --${sharing.flag} `) !== (sharing.isAbsent ?? false);
    expect(commands.some((command) => isOf(command) && chooses(`${command} `))).toBe(true);
  });
});
