import { type Profiler, Session } from 'node:inspector';

/**
 * Starts block coverage of the code below a URL. Call it before the code is loaded: code compiled earlier has no block
 * counters.
 */
export function startCoverage(urlPrefix: string) {
  const session = new Session();
  session.connect();
  /** Posts a command. The answer is synchronous because the session belongs to this thread. */
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
    /** Returns the blocks that ran since the last call. */
    take(): ReadonlySet<string> {
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
