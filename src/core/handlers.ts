import type { OperationId } from '../contract/operations.ts';
import { createApplication } from './applications/create.ts';
import { deleteApplication } from './applications/delete.ts';
import { getApplication, getApplicationByKey } from './applications/get.ts';
import { listApplications } from './applications/list.ts';
import { regenerateApplicationKey } from './applications/regenerate.ts';
import { updateApplication } from './applications/update.ts';
import type { Handler } from './handler.ts';
import { deleteTenant } from './tenants/delete.ts';
import { getTenant } from './tenants/get.ts';
import { updateTenant } from './tenants/update.ts';
import { getUsageReport } from './tenants/usage.ts';
import { createToken } from './tokens/create.ts';
import { deleteToken } from './tokens/delete.ts';
import { getToken } from './tokens/get.ts';
import { listTokens } from './tokens/list.ts';
import { updateToken } from './tokens/update.ts';

/** What each row of the table does: leaving one out does not compile. */
export const HANDLERS: { readonly [Id in OperationId]: Handler<Id> } = {
  createToken,
  listTokens,
  getToken,
  updateToken,
  deleteToken,
  createApplication,
  listApplications,
  getApplicationByKey,
  getApplication,
  updateApplication,
  regenerateApplicationKey,
  deleteApplication,
  getTenant,
  updateTenant,
  deleteTenant,
  getUsageReport,
};
