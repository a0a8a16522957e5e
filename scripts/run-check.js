/**
 * Runs one check in its own process for `scripts/check.js`, so that its leftovers do not affect the next check.
 * Receives the check's module and options in a message, and sends the result back.
 */
import { pathToFileURL } from 'node:url';

/**
 * Resolves to whether the check's control threw a CheckFailure, as it must. Recognizes the class by name, because each
 * check is bundled separately.
 */
async function control(check, options) {
  try {
    await check.control(options);
    return { ok: false, outcome: 'the control did not fail' };
  } catch (error) {
    if (error?.name !== 'CheckFailure') return { ok: false, outcome: `the control broke: ${error?.stack ?? error}` };
    return { ok: true, outcome: 'failed, as it must' };
  }
}

async function run(check, options) {
  const result = { ok: false, figures: {}, control: 'not run' };
  try {
    result.figures = await check.run(options);
    const { ok, outcome } = await control(check, options);
    return { ...result, ok, control: outcome };
  } catch (error) {
    const outcome = error?.name === 'CheckFailure' ? error.message : String(error?.stack ?? error);
    return { ...result, figures: error?.figures ?? result.figures, error: outcome };
  }
}

process.once('message', async ({ module, options }) => {
  const { CHECK } = await import(pathToFileURL(module).href);
  const result = await run(CHECK, options);
  // Exit explicitly, because a failed check may have left something running.
  process.send(result, () => process.exit(0));
});
// Exit when the runner has ended. Everything that the check started then ends, too.
process.once('disconnect', () => process.exit(1));
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(130));
