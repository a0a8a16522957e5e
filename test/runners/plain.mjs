import * as library from 'token-vault';
import * as client from 'token-vault/client';
import * as testing from 'token-vault/testing';
import { runCalls } from './run-calls.cjs';

for (const mode of ['in-process', 'child']) await runCalls(mode, { ...library, ...client, ...testing });
