/** Preloaded into a command: statfs reports the file system of STATFS_TYPE for every folder. */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const type = Number(process.env['STATFS_TYPE']);
fs.statfs = (_folder, done) => process.nextTick(done, null, { type });
// The named exports of node:fs follow.
syncBuiltinESMExports();
