/** SQLite's write-ahead log: a header of 32 bytes, then frames of 24 and a page. https://www.sqlite.org/fileformat2.html#walformat */
const HEADER = 32;
const FRAME_HEADER = 24;

export interface LogLayout {
  /** Where each frame ends, in bytes from the start. */
  readonly frameEnds: readonly number[];
  /** Those of them that end a transaction: the frame's header says how large the database is then. */
  readonly commitEnds: readonly number[];
}

/** The layout of a log that was written since it was last emptied. Throws unless it ends with a whole transaction. */
export function readLogLayout(log: Buffer): LogLayout {
  const frame = FRAME_HEADER + log.readUInt32BE(8);
  const salts = log.subarray(16, 24);
  const frameEnds: number[] = [];
  const commitEnds: number[] = [];
  for (let start = HEADER; start + frame <= log.length; start += frame) {
    // Other salts: what an earlier, longer log left behind.
    if (!log.subarray(start + 8, start + 16).equals(salts)) break;
    frameEnds.push(start + frame);
    if (log.readUInt32BE(start + 4) !== 0) commitEnds.push(start + frame);
  }
  if (frameEnds.at(-1) !== log.length || commitEnds.at(-1) !== log.length) {
    throw new Error('the log does not end with a whole transaction');
  }
  return { frameEnds, commitEnds };
}
