/**
 * One check in a process of its own, for `scripts/check.js`: what it leaves running or uses up does not reach the next
 * one. Is told which by a message, and answers with what its line says.
 */
import { pathToFileURL } from 'node:url';

/** What came of the control: it must throw a CheckFailure. Each is bundled apart, so the name tells. */
async function control(check, options) {
  try {
    await check.control(options);
    return { ok: false, says: 'the control did not fail' };
  } catch (error) {
    if (error?.name !== 'CheckFailure') return { ok: false, says: `the control broke: ${error?.stack ?? error}` };
    return { ok: true, says: 'failed, as it must' };
  }
}

async function run(check, options) {
  const result = { ok: false, figures: {}, control: 'not run' };
  try {
    result.figures = await check.run(options);
    const { ok, says } = await control(check, options);
    return { ...result, ok, control: says };
  } catch (error) {
    const says = error?.name === 'CheckFailure' ? error.message : String(error?.stack ?? error);
    return { ...result, figures: error?.figures ?? result.figures, error: says };
  }
}

process.once('message', async ({ module, options }) => {
  const { CHECK } = await import(pathToFileURL(module).href);
  const result = await run(CHECK, options);
  // Not left to end by itself: what a failed check left running must not keep the runner.
  process.send(result, () => process.exit(0));
});
// The runner is gone; what the check started ends with this process.
process.once('disconnect', () => process.exit(1));
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(130));
