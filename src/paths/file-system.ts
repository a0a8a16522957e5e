import { statfs } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { promisify } from 'node:util';
import { Fault } from '../core/fault.ts';

/** Resolves to the number of the file system of a folder, as statfs(2) on Linux. */
type Statfs = (folder: string) => Promise<{ readonly type: number }>;

// `node:fs/promises` would load a module that no read needs.
const systemStatfs = promisify(statfs);

/**
 * The file systems whose locks may do nothing, by their number on Linux. Each machine may keep the locks of a network
 * file system to itself, and then two daemons overwrite each other's writes. Other systems have no such numbers.
 */
const FILE_SYSTEMS: ReadonlyMap<number, { readonly name: string; readonly isNetwork: boolean }> = new Map([
  [0x6969, { name: 'NFS', isNetwork: true }],
  [0x517b, { name: 'SMB', isNetwork: true }],
  [0xff534d42, { name: 'SMB', isNetwork: true }],
  [0xfe534d42, { name: 'SMB', isNetwork: true }],
  [0x01021997, { name: '9p', isNetwork: false }],
  [0x65735546, { name: 'FUSE', isNetwork: false }],
]);

/** Resolves to the file system of a file's folder if its locks may do nothing. The file need not exist. */
async function doubtfulFileSystem(file: string, statfs: Statfs) {
  if (process.platform !== 'linux') return undefined;
  // The next step reports a folder that is missing. A 32-bit system returns a large number as a negative one.
  const found = await statfs(dirname(resolve(file))).catch(() => undefined);
  return found && FILE_SYSTEMS.get(found.type >>> 0);
}

/** Resolves to the bytes that are free for a file; to undefined if the file system does not report them. */
export async function freeSpace(file: string): Promise<number | undefined> {
  const found = await systemStatfs(dirname(resolve(file))).catch(() => undefined);
  return found && found.bavail * found.bsize;
}

/** Resolves to a sentence about the file system of a vault; to undefined for one with working locks. */
export async function fileSystemNotice(file: string, statfs: Statfs = systemStatfs): Promise<string | undefined> {
  const found = await doubtfulFileSystem(file, statfs);
  return found && `${file} is on ${found.name}, whose locks may do nothing: keep it on a local disk`;
}

/**
 * Resolves to the notice on the file system of a vault that is created or served. Rejects with the fault `file_unsafe`
 * for NFS and SMB unless they are allowed.
 */
export async function checkFileSystem(
  file: string,
  isAllowed: boolean,
  statfs: Statfs = systemStatfs,
): Promise<string | undefined> {
  const found = await doubtfulFileSystem(file, statfs);
  if (!found?.isNetwork || isAllowed) return fileSystemNotice(file, statfs);
  throw new Fault('file_unsafe', `${file} is on ${found.name}, whose locks may do nothing`, {
    hint: 'keep the vault on a local disk or in a database; if the locks hold between all machines, pass --allow-network-filesystem',
  });
}
