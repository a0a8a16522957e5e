import { Readable } from 'node:stream';
import { main } from '../../dist/cli/main.js';

// Each command adds listeners, and ends in a process of its own elsewhere.
process.setMaxListeners(0);

/**
 * Runs command lines in turn in this process: a new Node for each would take ten times as long. A message holds words,
 * folder, environment and perhaps standard input; the reply holds output and exit code.
 */
process.on('message', async ({ words, cwd, env, stdin }) => {
  const printed = { stdout: '', stderr: '' };
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, env);
  process.chdir(cwd);
  if (stdin !== undefined)
    Object.defineProperty(process, 'stdin', { value: Readable.from([Buffer.from(stdin)]), configurable: true });
  for (const name of ['stdout', 'stderr']) {
    process[name].write = (text, ...rest) => {
      printed[name] += typeof text === 'string' ? text : Buffer.from(text).toString();
      const done = rest.at(-1);
      if (typeof done === 'function') done();
      return true;
    };
  }
  const exitCode = await main(words);
  for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM', 'SIGUSR1']) process.removeAllListeners(signal);
  process.send({ ...printed, exitCode });
});
process.on('disconnect', () => process.exit());
