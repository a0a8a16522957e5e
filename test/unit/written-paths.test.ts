import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { ROOT } from '../../scripts/build-output.ts';
import { WRITTEN } from '../checks/paths-things.ts';

/** The flags with a path that no command creates or replaces, and why. */
const OTHERS: Readonly<Record<string, string>> = {
  '--age-passphrase-file': 'read',
  '--api-key-file': 'read',
  '--ca-file': 'read',
  '--identity': 'read',
  '--passphrase-file': 'read',
  '--new-passphrase-file': 'read',
  '--seed-file': 'read',
  '--tls-cert': 'read',
  '--tls-key': 'read',
  '--key-file': 'read if something is there, otherwise new (wx)',
  '--new-key-file': 'read if something is there, otherwise new (wx)',
  '--log-file': 'appended to',
  '--audit-archive': 'a folder; its files are those of --archive',
};

const PATH_FLAG = /flag\(\s*'(?:-\w, )?(--[a-z-]+) <(?:path|folder)(?:\.\.\.)?>/g;

function flagsWithPaths(): ReadonlySet<string> {
  const files = readdirSync(path.join(ROOT, 'src'), { recursive: true, encoding: 'utf8' });
  const texts = files
    .filter((file) => file.endsWith('.ts'))
    .map((file) => readFileSync(path.join(ROOT, 'src', file), 'utf8'));
  return new Set(texts.flatMap((text) => [...text.matchAll(PATH_FLAG)].map(([, name = '']) => name)));
}

/** The flags whose path the check `paths` attacks. */
const ATTACKED = Object.values(WRITTEN).flatMap((words) =>
  words.filter((word, n) => word.startsWith('--') && words[n + 1] === 'AT'),
);

it('the check of paths attacks each flag with a path that a command writes', () => {
  const known = [...ATTACKED, ...Object.keys(OTHERS)];
  expect([...flagsWithPaths()].filter((name) => !known.includes(name))).toEqual([]);
});

it('names no flag that is gone', () => {
  const found = flagsWithPaths();
  expect(Object.keys(OTHERS).filter((name) => !found.has(name))).toEqual([]);
  expect(found.size).toBeGreaterThan(15);
});
