/** Returns whether `version` is in `range`, a list of `^1.2.3` and `>=1` joined by ` || `. Node 14 reads this file. */
exports.isInRange = (version, range) => {
  const [major, minor, patch] = version.split('.').map(Number);
  return range.split(' || ').some((part) => {
    const [low, lowMinor = 0, lowPatch = 0] = part.replace(/^\D+/, '').split('.').map(Number);
    if (major !== low) return part.startsWith('>=') && major > low;
    return minor !== lowMinor ? minor > lowMinor : patch >= lowPatch;
  });
};
