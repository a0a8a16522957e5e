/**
 * The thread that `runOnFile` starts for a command on a file that this process serves. Opens a second connection and
 * sends one answer.
 */
import { parentPort, workerData } from 'node:worker_threads';
import manifest from '../../package.json' with { type: 'json' };
import { Fault } from '../core/fault.ts';
import { openVaultAdmin, type VaultAdmin } from './admin.ts';
import { checkVaultFile } from './checks/check-vault-file.ts';
import type { FileAnswer, FileOrder, ThreadCommand } from './file-commands.ts';

const { version, command, file, credential }: FileOrder = workerData;

const COMMANDS: Readonly<Record<ThreadCommand, () => Promise<object>>> = {
  verify: () => asAdmin((admin) => admin.verifyAudit()),
  doctor: () => checkVaultFile({ file, credential, isOpenHere: true }),
  keys: () => asAdmin(async (admin) => ({ ...(await admin.status()), slots: await admin.slots() })),
};

async function asAdmin(work: (admin: VaultAdmin) => Promise<object>): Promise<object> {
  const admin = await openVaultAdmin({ file, credential, isOpenHere: true });
  try {
    return await work(admin);
  } finally {
    await admin.close();
  }
}

async function answer(): Promise<FileAnswer> {
  try {
    if (version !== manifest.version)
      throw new Fault('usage', `version ${manifest.version} was installed while version ${version} is running`);
    return { result: await COMMANDS[command]() };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { failure: error.message };
  } finally {
    if (credential.kind === 'key_file') credential.key.fill(0);
  }
}

// Any other error ends the thread; `runOnFile` then rejects with it.
answer().then((sent) => parentPort?.postMessage(sent));
