import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { curlCommand, type RequestTarget } from '../../src/cli/operation/show-request.ts';
import { requestOf } from '../../src/client/remote.ts';
import type { Call } from '../../src/contract/call.ts';

const posix = process.platform !== 'win32';
const URL = 'http://127.0.0.1:8484';

const target = (url?: string, headerPrefix?: string): RequestTarget => ({ url, headerPrefix });
const create = (bodyText: string): Call => ({
  operation: 'createToken',
  params: {},
  query: [],
  mediaType: 'application/json',
  bodyText,
});
const get = (id: string): Call => ({ operation: 'getToken', params: { id }, query: [] });

/** Returns the arguments that a shell passes to curl, for each command. */
function wordsOf(commands: readonly string[]): readonly (readonly string[])[] {
  const script = `curl() { printf '%s\\0' "$@"; printf '\\0'; }\n${commands.join('')}`;
  const env = { VAULT_API_KEY: 'key_1', VAULT_URL: 'http://of-the-shell' };
  const printed = execFileSync('sh', [], { input: script, env, encoding: 'utf8' });
  return printed
    .split('\0\0')
    .slice(0, -1)
    .map((words) => words.split('\0'));
}

describe('--curl', () => {
  it.each([
    ['an IPv6 host with brackets', 'http://[::1]:1', 'tok', "--globoff 'http://[::1]:1/tokens/tok'"],
    ['a socket', 'unix:/run/it is.sock', 'tok', "--unix-socket '/run/it is.sock' http://localhost/tokens/tok"],
    ['an id with special characters', URL, "a/b?c d'", `'${URL}/tokens/a%2Fb%3Fc%20d'\\'''`],
  ])('requests %s', (_what, url, id, where) => {
    expect(curlCommand(get(id), target(url)).split(' \\\n')[0]).toBe(`curl -sS ${where}`);
  });

  it('trusts the certificates of --ca-file, only with https', () => {
    const first = (url: string) => curlCommand(get('a'), { ...target(url), caFile: 'my ca.pem' }).split(' \\\n')[0];
    expect(first('https://v.test')).toBe("curl -sS --cacert 'my ca.pem' https://v.test/tokens/a");
    expect(first(URL)).toBe(`curl -sS ${URL}/tokens/a`);
  });

  it('uses the header prefix and rejects an invalid one', () => {
    expect(curlCommand(get('a'), target(URL, 'abc'))).toContain('-H "ABC-API-KEY: $VAULT_API_KEY"');
    expect(() => curlCommand(get('a'), target(URL, 'a"b'))).toThrow('--header-prefix');
  });

  it.skipIf(!posix)('gives a shell the same request as the client sends, for any text', () => {
    const text = fc.string({ unit: 'binary' }).filter((one) => !/\p{Cs}/u.test(one));
    const json = fc.json({ noUnicodeString: false, stringUnit: 'binary' });
    const samples = fc.sample(fc.record({ body: json, id: text, name: text }), { numRuns: 200, seed: 1 });
    const calls = samples.map(({ body, id, name }): Call => {
      return { ...create(body), operation: 'updateToken', params: { id: `${id}x` }, query: [[name, id]] };
    });
    const words = wordsOf(calls.map((call) => curlCommand(call, target(URL))));
    expect(words).toHaveLength(calls.length);
    for (const [at, call] of calls.entries()) {
      const { method, path } = requestOf(call, 'svc');
      const [, , sent, ...rest] = words[at] ?? [];
      expect(sent).toBe(method);
      expect(rest).toContain(`${URL}${path}`);
      expect(rest).toContain('SVC-API-KEY: key_1');
      expect(JSON.parse(rest.at(-1) ?? '')).toEqual(JSON.parse(call.bodyText ?? ''));
    }
  });

  it.skipIf(!posix)('gives a body that is too long for an argument as a here-document', () => {
    const text = `a!b\\'"$x `.repeat(40_000);
    const call = create(JSON.stringify({ type: 'token', data: text }));
    const script = `curl() { for word; do last=$word; done; echo "$last"; cat; }\n${curlCommand(call, target(URL))}echo end\n`;
    const printed = execFileSync('sh', [], { input: script, encoding: 'utf8' });
    const [word, body = '', ...rest] = printed.split('\n');
    expect([word, ...rest]).toEqual(['@-', 'end', '']);
    expect(JSON.parse(body)).toEqual({ type: 'token', data: text });
    expect(body).not.toContain('!');
  });

  it.skipIf(!posix)('does not end a here-document at a line of the body', () => {
    const body = `${'a'.repeat(110_000)}\nBODY\nBODY_\necho more`;
    const script = `curl() { cat; }\n${curlCommand(create(body), target(URL))}`;
    expect(execFileSync('sh', [], { input: script, encoding: 'utf8' })).toBe(`${body}\n`);
  });

  it.skipIf(!posix)('keeps a body of several lines, and sends no control character to a terminal', () => {
    const call = create('{\n\t"data": "a\u009b\u202e",\r\n "type": "token"}');
    const [words] = wordsOf([curlCommand(call, target())]);
    expect(words?.at(-1)).toBe('{\n\t"data": "a\\u009b\\u202e",\r\n "type": "token"}');
    expect(words).toContain('http://of-the-shell/tokens');
  });
});
