import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { OPERATIONS, type Operation, type OperationId } from '../contract/operations.ts';
import { isOperationId, OWN_PATHS, type OwnPath, READ_METHODS } from './allowed-methods.ts';

/** What answers once a request has found its way. Each must answer, and must not throw. */
export interface Endpoints {
  operation(
    id: OperationId,
    /** The path as the table writes it. */
    route: string,
    request: IncomingMessage,
    response: ServerResponse,
    params: Readonly<Record<string, string>>,
  ): void;
  /** A path that the daemon answers itself. */
  own(name: OwnPath, request: IncomingMessage, response: ServerResponse): void;
  notFound(request: IncomingMessage, response: ServerResponse): void;
  /** The path's percent-encoding is broken. */
  badPath(request: IncomingMessage, response: ServerResponse): void;
}

export interface RouterOptions {
  /** Not listening yet. */
  readonly server: Server;
  /** Of a path's parameter, in characters. */
  readonly maxParamLength: number;
  readonly onClientError: (error: Error, socket: Duplex) => void;
}

export interface Router {
  readonly route: RequestListener;
  close(): Promise<void>;
}

const NO_QUERY = {};

/**
 * Fastify with a route for each row of the table. Routes answer in their `onRequest` hook, the last point before Fastify
 * would judge the body by its content type: that is the dispatcher's to do, after it knows who asks (decisions §1).
 */
export async function createRouter(endpoints: Endpoints, options: RouterOptions): Promise<Router> {
  const { fastify } = await import('fastify');
  let route: RequestListener = unreachable;
  const app = fastify({
    serverFactory: (handler) => {
      route = handler;
      return options.server;
    },
    clientErrorHandler: options.onClientError,
    exposeHeadRoutes: false,
    routerOptions: {
      ignoreTrailingSlash: true,
      maxParamLength: options.maxParamLength,
      // The query is read by parse-query.ts, in order.
      querystringParser: () => NO_QUERY,
    },
    frameworkErrors: (_error, request, reply) => {
      reply.hijack();
      endpoints.badPath(request.raw, reply.raw);
    },
  });

  app.addHook('onRequest', (request, reply, done) => {
    if (!request.is404) {
      done();
      return;
    }
    reply.hijack();
    endpoints.notFound(request.raw, reply.raw);
  });

  const rows: readonly (readonly [string, Operation])[] = Object.entries(OPERATIONS);
  for (const [id, { method, path }] of rows) {
    if (!isOperationId(id)) throw new Error('unreachable: an entry of the table is not in the table');
    app.route<{ Params: Record<string, string> }>({
      method: method === 'GET' ? [...READ_METHODS] : method,
      url: path.replaceAll(/\{(\w+)\}/g, ':$1'),
      onRequest: (request, reply) => {
        reply.hijack();
        // `/tokens//` has nothing where the id stands: it is no path of the table (allowed-methods.ts).
        if (Object.values(request.params).includes('')) endpoints.notFound(request.raw, reply.raw);
        else endpoints.operation(id, path, request.raw, reply.raw, request.params);
      },
      handler: unreachable,
    });
  }
  for (const name of Object.keys(OWN_PATHS) as OwnPath[]) {
    app.route({
      method: [...READ_METHODS],
      url: OWN_PATHS[name],
      onRequest: (request, reply) => {
        reply.hijack();
        endpoints.own(name, request.raw, reply.raw);
      },
      handler: unreachable,
    });
  }
  await app.ready();
  return { route, close: () => app.close() };
}

function unreachable(): never {
  throw new Error('unreachable: the hook before has answered');
}
