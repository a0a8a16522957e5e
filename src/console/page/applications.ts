import type { Application } from '../../client/create-client.ts';
import { createGrants, type Grants } from '../../core/access/grants.ts';
import { type Loaded, useLoaded } from './loaded.ts';
import { isHeld } from './session.ts';
import { vault } from './vault.ts';

const PAGE_SIZE = 100;
/** The maximum number of applications that the page loads. */
const MAX_APPLICATIONS = 1_000;

/** Loads the applications of the tenant, newest first. Without `application:read`, loads none. */
export function useApplications(): Loaded<readonly Application[]> {
  return useLoaded(isHeld('application:read') ? 'applications' : undefined, askAll);
}

async function askAll(signal: AbortSignal): Promise<readonly Application[]> {
  const all: Application[] = [];
  for (let page = 1; all.length < MAX_APPLICATIONS; page += 1) {
    const { data, pagination } = await vault.listApplications({ query: { page, size: PAGE_SIZE }, signal });
    all.push(...data);
    if (page >= pagination.total_pages) break;
  }
  return all;
}

/** Returns the applications that can read tokens, except expiring ones whose creator is unknown. */
export function readersOf(all: readonly Application[]): readonly Application[] {
  const ids = new Set(all.map(({ id }) => id));
  return all.filter(({ type, created_by }) => type === 'private' || (type === 'expiring' && ids.has(created_by ?? '')));
}

/**
 * Returns the grants of an application. An expiring application is also limited by the grants of its private creator.
 */
export function grantsOf(application: Application, all: readonly Application[]): Grants {
  const creator = all.find((each) => each.type === 'private' && isCreator(each, application));
  return createGrants(application, creator && createGrants(creator));
}

/**
 * Returns whether the first application created the second, an expiring one. Deleting the creator or replacing its key
 * ends the second.
 */
export const isCreator = ({ id }: Application, made: Application): boolean =>
  made.type === 'expiring' && made.created_by === id;
