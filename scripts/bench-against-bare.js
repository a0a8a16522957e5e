import { median, percentile } from './bench-figures.js';
import { load, once } from './bench-load.js';
import { processorSeconds } from './bench-process.js';
import { inTurn, MOST_A_SECOND } from './bench-requests.js';

/** Of each case: p99 to p50. */
const TAIL_TARGET = 4;

/** One server under the requests of one round. */
async function measure({ port, pid }, { requests, most, again, expected, seconds }) {
  const before = processorSeconds(pid);
  const {
    count,
    seconds: took,
    times,
    client,
  } = await load({
    port,
    seconds,
    expected,
    next: inTurn(requests, { most: again ? most : requests.length }),
  });
  const processor = before === undefined ? undefined : processorSeconds(pid) - before;
  return {
    rate: count / took,
    p50: percentile(times, 0.5),
    p99: percentile(times, 0.99),
    client,
    processor: processor === undefined ? undefined : (processor / count) * 1e6,
  };
}

const medianOf = (rounds, member) =>
  rounds[0][member] === undefined ? undefined : median(rounds.map((round) => round[member]));

/** Undefined where the system does not tell what a process used, or nothing was measured. */
const medianIfKnown = (values) => (values.length === 0 || values.some(Number.isNaN) ? undefined : median(values));

/** All rounds together: of a few tokens a round the processor time is too short to be told. */
function rawProcessor({ inserted, own }) {
  if (inserted.length === 0 || own[0].processor === undefined) return undefined;
  const sum = (member) => inserted.reduce((all, each) => all + each[member], 0);
  return ((sum('processor') / sum('tokens')) * 1e6) / medianOf(own, 'processor');
}

/**
 * One case: the vault's daemon and the bare server are sent the same requests, one after the other in each round, the
 * first of them in turn. Ratios are of one round each; all figures are medians of the rounds. A round before them warms up:
 * like any other, unless `warmUp` says how many requests at `most`, and for how many `seconds`.
 * `cpu_ratio` is that of the two servers' processor time a request: it says less about waiting, and stands on a busy machine.
 */
export async function againstBare(row, { vault, daemon, bare, rounds, seconds, warmUp, rawCopy }) {
  const { requests: makeRequests, once: eachOnce = false, expected, raw } = row;
  const [first] = makeRequests(vault, 1, Number.POSITIVE_INFINITY);
  const answer = await once(daemon.port, first);
  if (![expected].flat().includes(answer.status)) throw new Error(`${row.case}: ${answer.status} ${answer.body}`);
  await bare.answerLike(answer, first);

  const done = { own: [], bare: [], ratio: [], cpu: [], raw: [], inserted: [] };
  for (let round = -1; round < rounds; round += 1) {
    const { most, ...lasts } = round < 0 && warmUp ? warmUp : { most: Math.ceil(MOST_A_SECOND * seconds), seconds };
    const sent = { requests: makeRequests(vault, most, rounds - round), most, ...lasts };
    const runs = {
      own: () => measure(daemon, { ...sent, again: !eachOnce, expected }),
      bare: () => measure(bare, { ...sent, again: true, expected: answer.status }),
    };
    const figures = {};
    for (const name of round % 2 === 0 ? ['own', 'bare'] : ['bare', 'own']) {
      figures[name] = await runs[name]().catch((cause) => {
        throw new Error(`${row.case}, ${name}, round ${round}: ${cause.message}; ${daemon.said()}`, { cause });
      });
    }
    const inserted = raw && rawCopy?.catchUp();
    if (round < 0) continue;
    done.own.push(figures.own);
    done.bare.push(figures.bare);
    done.ratio.push(figures.own.rate / figures.bare.rate);
    done.cpu.push(figures.bare.processor / figures.own.processor);
    if (!inserted) continue;
    done.raw.push(figures.own.rate / (inserted.tokens / inserted.seconds));
    done.inserted.push(inserted);
  }
  const p50 = medianOf(done.own, 'p50');
  const p99 = medianOf(done.own, 'p99');
  const tail = Number((p99 / p50).toFixed(1));
  return {
    ratio: median(done.ratio),
    cpu_ratio: medianIfKnown(done.cpu),
    raw: { ratio: medianIfKnown(done.raw), cpu_ratio: rawProcessor(done) },
    per_second: medianOf(done.own, 'rate'),
    bare_per_second: medianOf(done.bare, 'rate'),
    p50_ms: p50,
    p99_ms: p99,
    p99_to_p50: tail,
    tail_reached: tail <= TAIL_TARGET,
    cpu_us: medianOf(done.own, 'processor'),
    bare_cpu_us: medianOf(done.bare, 'processor'),
    client_cpu: medianOf(done.own, 'client'),
    bare_client_cpu: medianOf(done.bare, 'client'),
  };
}
