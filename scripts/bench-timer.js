/**
 * Whose time it is: at each moment one step's, the innermost that was entered. What no step covers is `REST`. Steps absorb
 * what they call, unless they are among `OPEN`; so a store's time is split by statement, while reading a body that calls
 * the JSON parser stays reading a body. Exact for one call at a time only.
 */
export const REST = 'the rest';

const OPEN = new Set([REST, 'store']);

let entered = [{ step: REST }];
let since = 0;
let running = false;
let clock = () => performance.now();
const spent = new Map();

function charge() {
  const now = clock();
  const { step } = entered.at(-1);
  spent.set(step, (spent.get(step) ?? 0) + now - since);
  since = now;
}

/** Runs `work` with the timers on. Answers milliseconds by step, as `now` counts them. */
export async function timeSteps(work, now = () => performance.now()) {
  clock = now;
  spent.clear();
  entered = [{ step: REST }];
  running = true;
  since = clock();
  await work();
  charge();
  running = false;
  return new Map(spent);
}

/** A function that counts for a step from its call to its return, or until its promise is settled. */
export function timed(step, work) {
  return function (...args) {
    if (!running || !OPEN.has(entered.at(-1).step)) return work.apply(this, args);
    charge();
    const own = { step };
    entered.push(own);
    const leave = () => {
      charge();
      entered = entered.filter((one) => one !== own);
      if (entered.length === 0) entered = [{ step: REST }];
    };
    let pending = false;
    try {
      const result = work.apply(this, args);
      if (typeof result?.then !== 'function') return result;
      pending = true;
      return result.finally(leave);
    } finally {
      if (!pending) leave();
    }
  };
}

/** What a factory makes: a function, or an object of functions, each counted for the step. @returns {(...args: any[]) => any} */
export function timedFactory(step, make) {
  return (...args) => {
    const made = make(...args);
    if (typeof made === 'function') return timed(step, made);
    return Object.fromEntries(
      Object.entries(made).map(([name, value]) => [name, typeof value === 'function' ? timed(step, value) : value]),
    );
  };
}

/** The same object with some methods counted: name → step. */
export function timedMethods(object, steps) {
  const methods = new Map(Object.entries(steps).map(([name, step]) => [name, timed(step, object[name].bind(object))]));
  return new Proxy(object, {
    get(target, name) {
      const value = methods.get(name) ?? target[name];
      return typeof value === 'function' && !methods.has(name) ? value.bind(target) : value;
    },
  });
}
