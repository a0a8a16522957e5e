/**
 * Runs one check in its own process for `scripts/check.js`, so that its leftovers do not affect the next one. A message
 * names the check; the reply is its result.
 */
import { pathToFileURL } from 'node:url';

/**
 * Runs the control, which must throw a CheckFailure. Recognizes it by name, because each check is bundled separately.
 */
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
  // Exit explicitly, because a failed check may have left something running.
  process.send(result, () => process.exit(0));
});
// Exit when the runner has ended; everything that the check started ends, too.
process.once('disconnect', () => process.exit(1));
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(130));
