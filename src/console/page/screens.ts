import type { Permission } from '../../contract/permissions.ts';
import type { About } from '../about.ts';
import { Applications } from './apps/applications.tsx';
import { AuditLog } from './audit/audit-log.tsx';
import { DevTools } from './dev/dev-tools.tsx';
import { Health } from './health/health.tsx';
import { SeeAs } from './see-as/see-as.tsx';
import { Tokens } from './tokens/tokens.tsx';
import { Usage } from './usage/usage.tsx';

/** A screen, with its address and the key that opens it after `g`. */
export interface ScreenRow {
  readonly id: string;
  readonly name: string;
  readonly key: string;
  readonly show: () => preact.JSX.Element;
  /** Returns whether a console has the screen. Absent for screens that every console has. */
  readonly needs?: (about: About) => boolean;
  /** The permission without which the screen shows nothing. */
  readonly permission?: Permission;
}

export const SCREENS: readonly ScreenRow[] = [
  { id: 'tokens', name: 'Tokens', key: 't', show: Tokens, permission: 'token:read' },
  { id: 'see-as', name: 'See as', key: 's', show: SeeAs, permission: 'application:read' },
  { id: 'applications', name: 'Applications', key: 'a', show: Applications, permission: 'application:read' },
  { id: 'audit', name: 'Audit', key: 'l', show: AuditLog, permission: 'log:read' },
  { id: 'usage', name: 'Usage', key: 'u', show: Usage, permission: 'report:read' },
  { id: 'dev', name: 'Dev tools', key: 'd', show: DevTools, needs: ({ dev }) => dev },
  { id: 'health', name: 'Health', key: 'h', show: Health },
];
