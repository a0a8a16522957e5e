/**
 * SQLite's write-ahead log has a header of 32 bytes, then frames of a 24-byte header and a page:
 * https://www.sqlite.org/fileformat2.html#walformat
 */
const HEADER = 32;
const FRAME_HEADER = 24;

export interface LogLayout {
  /** The end of each frame, in bytes from the start of the log. */
  readonly frameEnds: readonly number[];
  /** The ends of frames that end a transaction. The header of such a frame has the size of the database. */
  readonly commitEnds: readonly number[];
}

/** Returns the layout of a log. Throws unless it ends with a complete transaction. */
export function readLogLayout(log: Buffer): LogLayout {
  const frame = FRAME_HEADER + log.readUInt32BE(8);
  const salts = log.subarray(16, 24);
  const frameEnds: number[] = [];
  const commitEnds: number[] = [];
  for (let start = HEADER; start + frame <= log.length; start += frame) {
    // Other salts mark frames that are left over from an earlier, longer log.
    if (!log.subarray(start + 8, start + 16).equals(salts)) break;
    frameEnds.push(start + frame);
    if (log.readUInt32BE(start + 4) !== 0) commitEnds.push(start + frame);
  }
  if (frameEnds.at(-1) !== log.length || commitEnds.at(-1) !== log.length) {
    throw new Error('the log does not end with a whole transaction');
  }
  return { frameEnds, commitEnds };
}
