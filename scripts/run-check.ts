/**
 * Runs one check in its own process for `scripts/check.ts`, so that its leftovers do not affect the next check.
 * Receives the check's module and options in a message, and sends the result back.
 */
import { enableCompileCache } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Check, CheckFailure, CheckOptions, Figures } from '../test/checks/check.ts';
import { ROOT } from './build-output.ts';

/** The result of one check with its control, as `scripts/check.ts` receives it. */
export interface CheckResult {
  readonly ok: boolean;
  readonly figures: Figures;
  readonly control: string;
  readonly error?: string;
}

/** Recognizes the class by its name, because each check is bundled separately. */
const isFailure = (error: unknown): error is CheckFailure => error instanceof Error && error.name === 'CheckFailure';

const stackOf = (error: unknown) => String((error instanceof Error && error.stack) || error);

/** Resolves to whether the check's control threw a CheckFailure, as it must. */
async function control(check: Check, options: CheckOptions) {
  try {
    await check.control(options);
    return { ok: false, outcome: 'the control did not fail' };
  } catch (error) {
    if (!isFailure(error)) return { ok: false, outcome: `the control broke: ${stackOf(error)}` };
    return { ok: true, outcome: 'failed, as it must' };
  }
}

async function run(check: Check, options: CheckOptions): Promise<CheckResult> {
  let figures: Figures = {};
  try {
    figures = await check.run(options);
    const { ok, outcome } = await control(check, options);
    return { ok, figures, control: outcome };
  } catch (error) {
    const result = { ok: false, control: 'not run' };
    if (isFailure(error)) return { ...result, figures: error.figures, error: error.message };
    return { ...result, figures, error: stackOf(error) };
  }
}

process.once('message', async ({ module, options }: { readonly module: string; readonly options: CheckOptions }) => {
  // Each process would strip the types of all modules again.
  enableCompileCache(path.join(ROOT, 'node_modules', '.cache', 'checks'));
  const { CHECK }: { readonly CHECK: Check } = await import(pathToFileURL(module).href);
  const result = await run(CHECK, options);
  // Exit explicitly, because a failed check may have left something running.
  process.send?.(result, () => process.exit(0));
});
// Exit when the runner has ended. Everything that the check started then ends, too.
process.once('disconnect', () => process.exit(1));
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(130));
