import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Reply } from '../contract/call.ts';
import { invalid, Problem } from '../core/problem.ts';
import { announcedLength } from '../http/read-body.ts';
import { HOLDER_METHODS, type HolderCommands, isHolderCommand } from './holder-requests.ts';
import type { ConsoleSession } from './sessions.ts';

/** The parsed body of a request. */
export type Sent = Readonly<Record<string, unknown>>;

type Action = (session: ConsoleSession, request: IncomingMessage, response: ServerResponse) => Promise<Reply>;

/** The handlers of one path, by method. */
export type PageActions = Readonly<Record<string, Action>>;

interface ActionContext {
  readonly describe: (session: ConsoleSession, request: IncomingMessage) => Promise<Reply>;
  readonly lock: (session: ConsoleSession) => void;
  readonly bodyOf: (request: IncomingMessage, response: ServerResponse) => Promise<Sent>;
  readonly holder: HolderCommands | undefined;
  readonly traceIdOf: (request: IncomingMessage) => string;
}

/** Returns a function that finds the handlers of a path below /ui/, except /ui/api/ and the assets. */
export function createPageActions({ describe, lock, bodyOf, holder, traceIdOf }: ActionContext) {
  const SESSION: PageActions = {
    GET: describe,
    HEAD: async (_session, request) => ({ status: 204, traceId: traceIdOf(request) }),
    DELETE: async (session, request) => {
      lock(session);
      return { status: 204, traceId: traceIdOf(request) };
    },
  };
  const KEYS: PageActions = {
    POST: async (session, request, response) => {
      const { key } = await bodyOf(request, response);
      if (typeof key !== 'string') throw invalid('key', 'is required');
      await session.identities.add(key.trim());
      return describe(session, request);
    },
  };
  const ONE_KEY: PageActions = {
    DELETE: async (session, request) => {
      session.identities.remove(Number(request.url?.split('/').at(-1)));
      return describe(session, request);
    },
  };

  const callDev: Action = async (session, request, response) => {
    const { method = '', url = '' } = request;
    const path = `/dev/${url.slice('/ui/dev/'.length)}` as const;
    const body = announcedLength(request) === 0 ? undefined : await bodyOf(request, response);
    return session.identities.callDev({ method, path, body }, traceIdOf(request));
  };
  const DEV: PageActions = { GET: callDev, POST: callDev, PUT: callDev, DELETE: callDev };

  return (path: string): PageActions | undefined => {
    if (path === '/ui/session') return SESSION;
    if (path === '/ui/session/keys') return KEYS;
    if (/^\/ui\/session\/keys\/\d{1,6}$/.test(path)) return ONE_KEY;
    if (/^\/ui\/dev\/[\w/-]+$/.test(path)) return DEV;
    const [, command = ''] = /^\/ui\/holder\/(.+)/.exec(path) ?? [];
    if (!isHolderCommand(command)) return undefined;
    return {
      [HOLDER_METHODS[command]]: async (_session, request) => {
        if (holder === undefined)
          throw new Problem('route_not_found', { detail: 'This console has no vault file and key.' });
        const bodyText = JSON.stringify(await holder[command]());
        return { status: 200, bodyText, traceId: traceIdOf(request) };
      },
    };
  };
}
