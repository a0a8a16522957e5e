import type { OperationId } from '../contract/operations.ts';
import type { Handler } from './handler.ts';

/**
 * What each row of the table does: leaving one out does not compile. Each is loaded when it is first called: a command
 * calls one of them, and ends.
 */
export const HANDLERS: { readonly [Id in OperationId]: () => Promise<Handler<Id>> } = {
  createToken: async () => (await import('./tokens/create.ts')).createToken,
  listTokens: async () => (await import('./tokens/list.ts')).listTokens,
  getToken: async () => (await import('./tokens/get.ts')).getToken,
  updateToken: async () => (await import('./tokens/update.ts')).updateToken,
  deleteToken: async () => (await import('./tokens/delete.ts')).deleteToken,
  createApplication: async () => (await import('./applications/create.ts')).createApplication,
  listApplications: async () => (await import('./applications/list.ts')).listApplications,
  getApplicationByKey: async () => (await import('./applications/get.ts')).getApplicationByKey,
  getApplication: async () => (await import('./applications/get.ts')).getApplication,
  updateApplication: async () => (await import('./applications/update.ts')).updateApplication,
  regenerateApplicationKey: async () => (await import('./applications/regenerate.ts')).regenerateApplicationKey,
  deleteApplication: async () => (await import('./applications/delete.ts')).deleteApplication,
  getTenant: async () => (await import('./tenants/get.ts')).getTenant,
  updateTenant: async () => (await import('./tenants/update.ts')).updateTenant,
  deleteTenant: async () => (await import('./tenants/delete.ts')).deleteTenant,
  getUsageReport: async () => (await import('./tenants/usage.ts')).getUsageReport,
};
