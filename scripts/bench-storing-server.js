/**
 * The baseline of `npm run bench -- limit`: as bare a server as bench-bare-server.js, which puts the rows of one token into
 * SQLite before it answers. Those of all requests of one turn of the event loop are in one transaction. It knows no key, checks
 * nothing and seals nothing: the rows are those that a vault has written, which it is told to take.
 *
 *   node bench-storing-server.js VAULT COPY
 */
import { serveFixed } from './bench-fixed-server.js';
import { openRawCopy } from './bench-raw-sqlite.js';

const [, , from, to] = process.argv;
const copy = openRawCopy(from, to);
copy.catchUp();

let tokens = [];
let stored = 0;
let waiting = [];

function store() {
  const answers = waiting;
  waiting = [];
  copy.insert(tokens.slice(stored, stored + answers.length));
  stored += answers.length;
  for (const answer of answers) answer();
}

serveFixed(
  (answer) => {
    if (waiting.length === 0) setImmediate(store);
    waiting.push(answer);
  },
  ({ take }) => {
    if (!take) return { ready: true };
    tokens = copy.newTokens();
    stored = 0;
    return { taken: tokens.length };
  },
);
