import { bareServer } from './bare-server.js';
import { median, percentile, processorSeconds } from './figures.js';
import { inTurn, load, once } from './load.js';

/**
 * More requests than a server answers in a second. A round with requests that are sent only once thus never runs out of
 * them.
 */
const MAX_PER_SECOND = 30_000;

/** Sends the requests of one round to one server. */
async function measure({ port, pid }, { requests, most, expected, seconds }) {
  const before = processorSeconds(pid);
  const { count, times, client, ...took } = await load({ port, seconds, expected, next: inTurn(requests, { most }) });
  const processor = before === undefined ? undefined : ((processorSeconds(pid) - before) / count) * 1e6;
  const p50 = percentile(times, 0.5);
  return { rate: count / took.seconds, p50, p99: percentile(times, 0.99), client, processor };
}

/** Returns the median, or undefined when nothing was measured. */
const medianIfKnown = (values) => (values.length === 0 || values.some(Number.isNaN) ? undefined : median(values));

/**
 * Returns raw SQLite's processor time per token, divided by `processor` (in µs). Sums all rounds, because the time of a
 * few tokens is too short to measure.
 */
function rawProcessor(inserted, processor) {
  if (inserted.length === 0 || processor === undefined) return undefined;
  const sum = (member) => inserted.reduce((all, each) => all + each[member], 0);
  return ((sum('processor') / sum('tokens')) * 1e6) / processor;
}

/**
 * Measures one case. Each round sends the same requests to the daemon and to the bare server, in alternating order.
 * Ratios are computed per round; all figures are medians. One warm-up round comes first: with the same size, or with at
 * most `warmUp.most` requests in `warmUp.seconds`. `cpu_ratio` compares the processor time per request, which depends
 * less on other load on the machine.
 */
export async function againstBare(row, { vault, daemon, rounds, seconds, warmUp, rawCopy }) {
  const { requests: makeRequests, once: isOnce = false, expected = 200 } = row;
  const [first] = makeRequests(vault, 1, Number.POSITIVE_INFINITY);
  const answer = await once(daemon.port, first);
  if (![expected].flat().includes(answer.status)) throw new Error(`${row.case}: ${answer.status} ${answer.body}`);
  const bare = await bareServer(answer, first);

  async function measureRound(round) {
    const size = round < 0 && warmUp ? warmUp : { most: Math.ceil(MAX_PER_SECOND * seconds), seconds };
    const requests = makeRequests(vault, size.most, rounds - round);
    const runs = {
      own: () => measure(daemon, { ...size, requests, most: isOnce ? requests.length : size.most, expected }),
      bare: () => measure(bare, { ...size, requests, expected: answer.status }),
    };
    const figures = {};
    for (const name of round % 2 === 0 ? ['own', 'bare'] : ['bare', 'own']) {
      figures[name] = await runs[name]().catch((cause) => {
        throw new Error(`${row.case}, ${name}, round ${round}: ${cause.message}; ${daemon.stderr()}`, { cause });
      });
    }
    return { ...figures, inserted: row.raw && rawCopy?.catchUp() };
  }

  const done = [];
  try {
    for (let round = -1; round < rounds; round += 1) {
      const figures = await measureRound(round);
      if (round >= 0) done.push(figures);
    }
  } finally {
    bare.stop();
  }
  const of = (figure) => medianIfKnown(done.map(figure));
  const [p50, p99, processor] = ['p50', 'p99', 'processor'].map((member) => of(({ own }) => own[member]));
  const stored = done.filter(({ inserted }) => inserted);
  return {
    ratio: of(({ own, bare: other }) => own.rate / other.rate),
    cpu_ratio: of(({ own, bare: other }) => other.processor / own.processor),
    raw: {
      ratio: medianIfKnown(stored.map(({ own, inserted }) => own.rate / (inserted.tokens / inserted.seconds))),
      cpu_ratio: rawProcessor(
        stored.map(({ inserted }) => inserted),
        processor,
      ),
    },
    per_second: of(({ own }) => own.rate),
    bare_per_second: of(({ bare: other }) => other.rate),
    p50_ms: p50,
    p99_ms: p99,
    p99_to_p50: p99 / p50,
    cpu_us: processor,
    bare_cpu_us: of(({ bare: other }) => other.processor),
    client_cpu: of(({ own }) => own.client),
  };
}
