/** The baseline of `npm run bench -- http`: a bare `node:http` server that reads all bytes of a request and answers fixed ones. */
import { serveFixed } from './bench-fixed-server.js';

serveFixed((answer) => answer());
