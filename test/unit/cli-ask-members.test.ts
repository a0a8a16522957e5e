import { PassThrough, Writable } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { askMembers } from '../../src/cli/derive/ask-members.ts';
import type { CommandInput } from '../../src/cli/derive/assemble-call.ts';
import { OPERATIONS, type Operation, type OperationId } from '../../src/contract/operations.ts';

const ENTER = '\r';
const DOWN = '\u001b[B';
const CTRL_C = '\u0003';

/** A part of a question, and the keys to type when it appears. */
type Keys = readonly [question: string, ...keys: readonly string[]];

/** Simulates a person at a terminal who waits for each question and then types. */
async function ask(
  id: OperationId,
  ...plan: readonly Keys[]
): Promise<{ readonly members: CommandInput['members']; readonly seen: string }> {
  const input = new PassThrough();
  const left = [...plan];
  let seen = '';
  let fresh = '';
  const output = new Writable({
    write(chunk: Buffer, _encoding, done) {
      const text = stripVTControlCharacters(String(chunk));
      seen += text;
      fresh += text;
      const next = left[0];
      if (next !== undefined && fresh.includes(next[0])) {
        left.shift();
        fresh = '';
        setTimeout(() => type(input, next.slice(1)), 20);
      }
      done();
    },
  });
  // Like stderr, this stream stays open when a prompt ends.
  Object.assign(output, { _isStdio: true });
  const row: Operation = OPERATIONS[id];
  const members = await askMembers(id, row.cli.asks ?? [], { input, output });
  return { members, seen };
}

function type(input: PassThrough, [key, ...rest]: readonly string[]): void {
  if (key === undefined) return;
  input.write(key);
  setTimeout(() => type(input, rest), 20);
}

describe('askMembers', () => {
  it.each(Object.entries<Operation>(OPERATIONS).filter(([, row]) => row.cli.asks !== undefined))(
    '%s asks for every required member',
    (_id, row) => {
      expect(row.cli.asks).toEqual(expect.arrayContaining([...(row.body?.required ?? [])]));
    },
  );

  it('asks for a card, again for wrong members, hides its number and omits empty answers', async () => {
    const { members, seen } = await ask(
      'createToken',
      ['Type of the token', DOWN, ENTER],
      ['? number', '4242424242424241', ENTER],
      ['must be a card number', '\u007f', '2', ENTER],
      ['? expiration_month', '013', ENTER],
      ['must be an integer from 1 to 12', '\u007f', '2', ENTER],
      ['expiration_year', ENTER],
      ['cvc', '123', ENTER],
    );
    expect(members).toEqual({
      type: ['card'],
      data: ['{"number":"4242424242424242","expiration_month":12,"cvc":"123"}'],
    });
    expect(seen).toContain('a payment card');
    expect(seen).not.toContain('4242');
  });

  it('asks for text or JSON of a token', async () => {
    const text = await ask(
      'createToken',
      ['Type of the token', ENTER],
      ['The value is', ENTER],
      ['? Text', '@"x"', ENTER],
    );
    expect(text.members).toEqual({ type: ['token'], data: ['"@\\"x\\""'] });
    const empty = await ask('createToken', ['Type of the token', ENTER], ['The value is', ENTER], ['? Text', ENTER]);
    expect(empty.members).toEqual({ type: ['token'], data: ['""'] });
    const json = await ask(
      'createToken',
      ['Type of the token', ENTER],
      ['The value is', DOWN, ENTER],
      ['? JSON', '{"a":1.10', ENTER],
      ['ends too early', '}', ENTER],
    );
    expect(json.members['data']).toEqual(['{"a":1.10}']);
  });

  it('offers only permissions of the type, and asks for rules', async () => {
    const { members, seen } = await ask(
      'createApplication',
      ['Name', 'web', ENTER],
      ['Type of the application', DOWN, ENTER],
      ['Permissions', ' ', ENTER],
      ['Add an access rule?', 'y', ENTER],
      ['Container', '/pci', ENTER],
      ['not allowed', '/', ENTER],
      ['The rule shows data', DOWN, ENTER],
      ['The rule allows', ' ', ENTER],
      ['Add another rule?', ENTER],
    );
    expect(members).toEqual({
      name: ['web'],
      type: ['public'],
      permission: ['token:create'],
      rule: ['{"description":"","priority":1,"container":"/pci/","transform":"mask","permissions":["token:create"]}'],
    });
    expect(seen).toContain('token:update');
    expect(seen).not.toContain('token:read');
  });

  it('offers token:use only in a rule, and selects no permission and no container', async () => {
    const { members, seen } = await ask(
      'createApplication',
      ['Name', 'back', ENTER],
      ['Type of the application', ENTER],
      ['Permissions on every token, masked', ENTER],
      ['Container', ENTER],
      ['must provide a value', '/', ENTER],
      ['The rule shows data', ENTER],
      ['The rule allows', DOWN, DOWN, DOWN, DOWN, DOWN, ' ', ENTER],
      ['Add another rule?', ENTER],
    );
    expect(members).toEqual({
      name: ['back'],
      type: ['private'],
      rule: ['{"description":"","priority":1,"container":"/","transform":"redact","permissions":["token:use"]}'],
    });
    expect(seen.slice(0, seen.indexOf('Container'))).not.toContain('token:use');
  });

  it('asks a management application for no rules, and an expiring one for conditions', async () => {
    const management = await ask(
      'createApplication',
      ['Name', 'm', ENTER],
      ['Type of the application', DOWN, DOWN, ENTER],
      ['Permissions', ' ', ENTER],
    );
    expect(management.members).toEqual({ name: ['m'], type: ['management'], permission: ['application:create'] });
    const expiring = await ask(
      'createApplication',
      ['Name', 'e', ENTER],
      ['Type of the application', DOWN, DOWN, DOWN, ENTER],
      ['Permissions', ENTER],
      ['attribute of the token', ENTER],
      ['The comparison', DOWN, ENTER],
      ['The value to compare with', 'tok-1', ENTER],
      ['The rule shows data', DOWN, DOWN, ENTER],
      ['The rule allows', ' ', ENTER],
      ['Add another rule?', ENTER],
    );
    expect(expiring.members['rule']).toEqual([
      '{"description":"","priority":1,"conditions":[{"attribute":"id","operator":"equals","value":"tok-1"}],"transform":"reveal","permissions":["token:read"]}',
    ]);
    expect(expiring.members).not.toHaveProperty('permission');
  });

  it('rejects with the error for exit code 130 on Ctrl-C', async () => {
    await expect(ask('createToken', ['Type of the token', CTRL_C])).rejects.toMatchObject({ name: 'ExitPromptError' });
  });
});
