import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Reply } from '../contract/call.ts';
import { invalid, Problem } from '../core/problem.ts';
import { announcedLength } from '../http/read-body.ts';
import type { About } from './about.ts';
import type { ConsoleSession } from './sessions.ts';

/** Commands on the vault's file, for a console with the file and its key. Each command resolves to its output. */
export type HolderCommands = Readonly<Record<'verify' | 'doctor' | 'keys' | 'file', () => Promise<object>>>;

/** The parsed body of a request. */
export type Sent = Readonly<Record<string, unknown>>;

type Action = (session: ConsoleSession, request: IncomingMessage, response: ServerResponse) => Promise<Reply>;

/** The handlers of one path, by method. */
export type PageActions = Readonly<Record<string, Action>>;

interface ActionContext {
  readonly aboutOf: (session: ConsoleSession, request: IncomingMessage) => Promise<About>;
  readonly lock: (session: ConsoleSession) => void;
  readonly bodyOf: (request: IncomingMessage, response: ServerResponse) => Promise<Sent>;
  readonly holder: HolderCommands | undefined;
  readonly traceIdOf: (request: IncomingMessage) => string;
}

/** Returns a function that finds the handlers of a path below /ui/, except /ui/api/ and the assets. */
export function createPageActions({ aboutOf, lock, bodyOf, holder, traceIdOf }: ActionContext) {
  const replyOf = (request: IncomingMessage, body?: object): Reply => ({
    ...(body === undefined ? { status: 204 } : { status: 200, bodyText: JSON.stringify(body) }),
    traceId: traceIdOf(request),
  });
  const describe: Action = async (session, request) => replyOf(request, await aboutOf(session, request));
  const run =
    (command: keyof HolderCommands): Action =>
    async (_session, request) => {
      if (holder === undefined)
        throw new Problem('route_not_found', { detail: 'This console has no vault file and key.' });
      return replyOf(request, await holder[command]());
    };
  const callDev: Action = async (session, request, response) => {
    const { method = '', url = '' } = request;
    const path = `/dev/${url.slice('/ui/dev/'.length)}` as const;
    const body = announcedLength(request) === 0 ? undefined : await bodyOf(request, response);
    return session.identities.callDev({ method, path, body }, traceIdOf(request));
  };
  const DEV: PageActions = { GET: callDev, POST: callDev, PUT: callDev, DELETE: callDev };
  const ONE_KEY: PageActions = {
    DELETE: (session, request, response) => {
      session.identities.remove(Number(request.url?.split('/').at(-1)));
      return describe(session, request, response);
    },
  };
  const ACTIONS: Readonly<Record<string, PageActions>> = {
    '/ui/session': {
      GET: describe,
      HEAD: async (_session, request) => replyOf(request),
      DELETE: async (session, request) => {
        lock(session);
        return replyOf(request);
      },
    },
    '/ui/session/keys': {
      POST: async (session, request, response) => {
        const { key } = await bodyOf(request, response);
        if (typeof key !== 'string') throw invalid('key', 'is required');
        await session.identities.add(key.trim());
        return describe(session, request, response);
      },
    },
    '/ui/holder/verify': { POST: run('verify') },
    '/ui/holder/doctor': { POST: run('doctor') },
    '/ui/holder/keys': { GET: run('keys') },
    '/ui/holder/file': { GET: run('file') },
  };

  return (path: string): PageActions | undefined => {
    if (/^\/ui\/session\/keys\/\d{1,6}$/.test(path)) return ONE_KEY;
    if (/^\/ui\/dev\/[\w/-]+$/.test(path)) return DEV;
    return Object.hasOwn(ACTIONS, path) ? ACTIONS[path] : undefined;
  };
}
