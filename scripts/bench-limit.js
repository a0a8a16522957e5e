import path from 'node:path';
import { bareServer, serve, storingServer } from './bench-daemon.js';
import { line, median } from './bench-figures.js';
import { CONNECTIONS, load, once } from './bench-load.js';
import { benchRequests, inTurn, MOST_A_SECOND } from './bench-requests.js';
import { importCards, makeBenchVault, withFolder } from './bench-vault.js';

/**
 * How much of a bare POST is left when SQLite takes the rows of a card and nothing else is done, and how much of that the
 * vault reaches: with the same connections, rows and settings of the file.
 */
export async function limit({ rounds, seconds, tokens, ownEnvironment }) {
  const title = `A create beside what SQLite and HTTP alone take, ${CONNECTIONS} connections, ${rounds} rounds of ${seconds} s, ${tokens} tokens; Node ${process.versions.node}`;
  const bare = await bareServer();
  try {
    const rows = await withFolder({ ownEnvironment }, async (folder, environment) => {
      const made = await makeBenchVault(folder, environment);
      await importCards(made, tokens);
      const daemon = await serve([], made.env);
      const storing = await storingServer(made.file, path.join(folder, 'storing.db'));
      try {
        return await compare({ daemon, storing, bare }, { made, rounds, seconds, tokens });
      } finally {
        storing.stop();
        await daemon.stop();
      }
    });
    return { title, rows };
  } finally {
    bare.stop();
  }
}

async function compare({ daemon, storing, bare }, { made, rounds, seconds, tokens }) {
  const request = benchRequests(made.keys, `127.0.0.1:${daemon.port}`);
  let created = tokens;
  const creates = (count) => Array.from({ length: count }, () => request.create(created++));
  const [first] = creates(1);
  const answer = await once(daemon.port, first);
  await bare.answerLike(answer, first);
  await storing.take();
  await storing.answerLike(answer, first);
  const rate = async ({ port }, requests) => {
    const next = inTurn(requests, { most: requests.length });
    const { count, seconds: took } = await load({ port, seconds, expected: answer.status, next });
    return count / took;
  };

  const done = [];
  for (let round = -1; round < rounds; round += 1) {
    const requests = creates(Math.ceil(MOST_A_SECOND * seconds));
    const own = await rate(daemon, requests);
    const stored = await rate(storing, requests.slice(0, await storing.take()));
    const figures = { own, stored, bare: await rate(bare, requests) };
    // The first warms up.
    if (round >= 0) done.push(figures);
  }
  const of = (figure) => median(done.map(figure));
  const stated = { durability: 'FULL', audit: 'reveal' };
  return [
    line('limit', 'create-storing-to-bare', {
      ratio: of(({ stored, bare }) => stored / bare),
      per_second: of(({ stored }) => stored),
      ...stated,
    }),
    line('limit', 'create-to-storing', {
      ratio: of(({ own, stored }) => own / stored),
      per_second: of(({ own }) => own),
      ...stated,
    }),
  ];
}
