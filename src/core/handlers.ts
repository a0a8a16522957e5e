import type { OperationId } from '../contract/operations.ts';
import { loadQueryJson } from './expressions/query-json.ts';
import type { Handler } from './handler.ts';
import { type LoadedOnce, loadedOnce } from './loaded-once.ts';
import { loadBodyValidators } from './request/validate.ts';

/**
 * The handler of each operation; a missing handler does not compile. Each handler loads on its first call, because a
 * CLI command calls only one.
 */
export const HANDLERS: { readonly [Id in OperationId]: LoadedOnce<Handler<Id>> } = {
  createToken: loadedOnce(async () => (await import('./tokens/create.ts')).createToken),
  previewToken: loadedOnce(async () => (await import('./tokens/create.ts')).previewToken),
  listTokens: loadedOnce(async () => (await import('./tokens/list.ts')).listTokens),
  listTokensByCursor: loadedOnce(async () => (await import('./tokens/list.ts')).listTokensByCursor),
  searchTokens: loadedOnce(async () => (await import('./tokens/list.ts')).searchTokens),
  searchTokensByCursor: loadedOnce(async () => (await import('./tokens/list.ts')).searchTokensByCursor),
  getToken: loadedOnce(async () => (await import('./tokens/get.ts')).getToken),
  updateToken: loadedOnce(async () => (await import('./tokens/update.ts')).updateToken),
  deleteToken: loadedOnce(async () => (await import('./tokens/delete.ts')).deleteToken),
  tokenize: loadedOnce(async () => (await import('./tokens/tokenize.ts')).tokenize),
  detokenize: loadedOnce(async () => (await import('./tokens/detokenize.ts')).detokenize),
  createApplication: loadedOnce(async () => (await import('./applications/create.ts')).createApplication),
  listApplications: loadedOnce(async () => (await import('./applications/read.ts')).listApplications),
  getApplicationByKey: loadedOnce(async () => (await import('./applications/read.ts')).getApplicationByKey),
  explainAccess: loadedOnce(async () => (await import('./applications/explain.ts')).explainApplicationAccess),
  measureReach: loadedOnce(async () => (await import('./applications/explain.ts')).measureReach),
  getApplication: loadedOnce(async () => (await import('./applications/read.ts')).getApplication),
  updateApplication: loadedOnce(async () => (await import('./applications/change.ts')).updateApplication),
  regenerateApplicationKey: loadedOnce(async () => (await import('./applications/change.ts')).regenerateApplicationKey),
  deleteApplication: loadedOnce(async () => (await import('./applications/change.ts')).deleteApplication),
  createApplicationKey: loadedOnce(async () => (await import('./applications/keys.ts')).createApplicationKey),
  listApplicationKeys: loadedOnce(async () => (await import('./applications/keys.ts')).listApplicationKeys),
  getApplicationKey: loadedOnce(async () => (await import('./applications/keys.ts')).getApplicationKey),
  deleteApplicationKey: loadedOnce(async () => (await import('./applications/keys.ts')).deleteApplicationKey),
  getTenant: loadedOnce(async () => (await import('./tenants/self.ts')).getTenant),
  updateTenant: loadedOnce(async () => (await import('./tenants/self.ts')).updateTenant),
  deleteTenant: loadedOnce(async () => (await import('./tenants/self.ts')).deleteTenant),
  getUsageReport: loadedOnce(async () => (await import('./tenants/self.ts')).getUsageReport),
  getActivity: loadedOnce(async () => (await import('./tenants/self.ts')).getActivity),
  listLogs: loadedOnce(async () => (await import('./audit/list-logs.ts')).listLogs),
  listPermissions: loadedOnce(async () => (await import('./applications/read.ts')).listPermissions),
};

/** Loads the code that answers retries of changes with an idempotency key. */
export const loadReplays = loadedOnce(async () => (await import('./replay.ts')).REPLAYS);

/**
 * Loads the code of all operations. A daemon calls this function before its first request: later the daemon may run out
 * of descriptors, or an update may have replaced the files.
 */
export async function loadOperations(): Promise<void> {
  const handlers = Object.values(HANDLERS).map((load) => load());
  await Promise.all([...handlers, loadReplays(), loadBodyValidators(), loadQueryJson()]);
}
