import type { OperationId } from '../contract/operations.ts';
import type { Handler } from './handler.ts';

const once = <T>(load: () => Promise<T>): (() => Promise<T>) => {
  let loading: Promise<T> | undefined;
  return () => {
    loading ??= load();
    return loading;
  };
};

/**
 * What each row of the table does: leaving one out does not compile. Each is loaded when it is first called: a command
 * calls one of them, and ends.
 */
export const HANDLERS: { readonly [Id in OperationId]: () => Promise<Handler<Id>> } = {
  createToken: once(async () => (await import('./tokens/create.ts')).createToken),
  listTokens: once(async () => (await import('./tokens/list.ts')).listTokens),
  getToken: once(async () => (await import('./tokens/get.ts')).getToken),
  updateToken: once(async () => (await import('./tokens/update.ts')).updateToken),
  deleteToken: once(async () => (await import('./tokens/delete.ts')).deleteToken),
  createApplication: once(async () => (await import('./applications/create.ts')).createApplication),
  listApplications: once(async () => (await import('./applications/list.ts')).listApplications),
  getApplicationByKey: once(async () => (await import('./applications/get.ts')).getApplicationByKey),
  getApplication: once(async () => (await import('./applications/get.ts')).getApplication),
  updateApplication: once(async () => (await import('./applications/update.ts')).updateApplication),
  regenerateApplicationKey: once(async () => (await import('./applications/regenerate.ts')).regenerateApplicationKey),
  deleteApplication: once(async () => (await import('./applications/delete.ts')).deleteApplication),
  getTenant: once(async () => (await import('./tenants/get.ts')).getTenant),
  updateTenant: once(async () => (await import('./tenants/update.ts')).updateTenant),
  deleteTenant: once(async () => (await import('./tenants/delete.ts')).deleteTenant),
  getUsageReport: once(async () => (await import('./tenants/usage.ts')).getUsageReport),
};
