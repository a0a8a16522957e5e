import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import openapiTypescript from 'openapi-typescript';
import { expect, it, onTestFinished } from 'vitest';
import { openApiText } from '../../src/contract/openapi/openapi.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const TSC = fileURLToPath(new URL('../../node_modules/.bin/tsc', import.meta.url));
const OPTIONS = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2022', '--types', ''];

const USE = `
import type { components, operations, paths } from './api.js';
type Created = paths['/tokens']['post']['responses'][201]['content']['application/json'];
type Listing = NonNullable<operations['listTokens']['parameters']['query']>;
export const token: Created = { id: 'a', type: 'token', tenant_id: 'b', containers: ['/'] };
export const same: components['schemas']['Token'] = token;
type Updated = paths['/tokens/{id}']['patch']['responses'][200]['content']['application/json'];
// A caller without token:read gets neither data nor fingerprint.
export const unread: Updated = { ...token, mask: { n: 'x' }, metadata: { a: 'b' }, fingerprint_expression: '{{ data }}' };
export const nothing: undefined extends Updated['data'] ? true : false = true;
export const trace: operations['getToken']['parameters']['header'] = { 'SVC-TRACE-ID': 'any value' };
`;

it.each([
  ['2', 0],
  ["'two'", 1],
])('a client generated from the document compiles with page %s: exit code %i', async (page, exitCode) => {
  const folder = temporaryFolder(onTestFinished);
  const inside = (name: string) => path.join(folder, name);
  const generated = await openapiTypescript(JSON.parse(openApiText({ version: '1' })));
  writeFileSync(inside('api.d.ts'), generated);
  writeFileSync(inside('use.ts'), `${USE}export const query: Listing = { page: ${page} };\n`);
  const ran = await promisify(execFile)(TSC, [...OPTIONS, 'use.ts', 'api.d.ts'], { cwd: folder }).then(
    () => ({ code: 0, stdout: '' }),
    (error: { readonly code: number; readonly stdout: string }) => error,
  );
  expect([ran.code, ran.stdout.split('\n').length - 1]).toEqual([exitCode, exitCode]);
  expect(ran.stdout).toMatch(exitCode === 0 ? /^$/ : /^use\.ts\(\d+,\d+\): error TS2322/);
});
