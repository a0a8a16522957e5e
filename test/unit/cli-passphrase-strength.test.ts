import { describe, expect, it } from 'vitest';
import { describeStrength, passphraseBits } from '../../src/cli/credential/passphrase-strength.ts';

describe('passphraseBits', () => {
  it.each([
    ['aaaaaaaaaaaaaaaa', 'weak'],
    ['123456789012345', 'weak'],
    ['abcdefghijklmnop', 'weak'],
    ['passwordpasswordpassword', 'weak'],
    ['password1234', 'weak'],
    ['correct horse', 'weak'],
    ['correct horse battery', 'fair'],
    ['correct horse battery staple', 'good'],
    ['fV9#k2!Zq&7Lw0@xT3^b', 'good'],
    ['correct horse battery staple orchid lantern', 'strong'],
  ])('%s is %s', (passphrase, label) => {
    expect(describeStrength(passphrase)).toMatch(new RegExp(`^${label}: about \\d+ bits`));
  });

  it('never falls when text is added, and is 0 for an empty passphrase', () => {
    expect(passphraseBits('')).toBe(0);
    const text = 'Correct horse 4242 battery staple!';
    const bits = [...text].map((_character, at) => passphraseBits(text.slice(0, at + 1)));
    expect(bits).toEqual([...bits].sort((a, b) => a - b));
  });

  it('does not reveal what was typed', () => {
    expect(describeStrength('correct horse battery')).not.toContain('horse');
  });
});
