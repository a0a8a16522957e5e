import { vi } from 'vitest';
import { main } from '../../src/cli/main.ts';

/** Runs a command line in this process. Resolves to its output and its exit code. */
export async function runMain(
  ...words: readonly string[]
): Promise<{ readonly stdout: string; readonly stderr: string; readonly exitCode: number }> {
  const printed = { stdout: '', stderr: '' };
  const spies = (['stdout', 'stderr'] as const).map((name) =>
    vi.spyOn(process[name], 'write').mockImplementation((text, ...rest: readonly unknown[]) => {
      printed[name] += String(text);
      const done = rest.at(-1);
      if (typeof done === 'function') done();
      return true;
    }),
  );
  const exitCode = await main(words).finally(() => {
    for (const spy of spies) spy.mockRestore();
  });
  return { ...printed, exitCode };
}
