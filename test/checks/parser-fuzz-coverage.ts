import { type Profiler, Session } from 'node:inspector';

/** Which blocks of the code below a URL run. */
export interface Coverage {
  /** Those that have run since this was asked last. */
  take(): ReadonlySet<string>;
  stop(): void;
}

/** Begins before the code is loaded: what is compiled earlier has no counters for its blocks. */
export function startCoverage(urlPrefix: string): Coverage {
  const session = new Session();
  session.connect();
  /** Calls back at once: the session is this thread's own. */
  const post = (method: string, parameters: object = {}) => {
    let answer: unknown;
    session.post(method, parameters, (error, result) => {
      if (error !== null) throw error;
      answer = result;
    });
    return answer;
  };
  post('Profiler.enable');
  post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });

  return {
    take() {
      const blocks = new Set<string>();
      const { result } = post('Profiler.takePreciseCoverage') as Profiler.TakePreciseCoverageReturnType;
      for (const { url, scriptId, functions } of result) {
        if (!url.startsWith(urlPrefix)) continue;
        for (const { ranges } of functions) {
          for (const { count, startOffset, endOffset } of ranges) {
            if (count > 0) blocks.add(`${scriptId}:${startOffset}:${endOffset}`);
          }
        }
      }
      return blocks;
    },
    stop: () => session.disconnect(),
  };
}
