import { Fault } from './fault.ts';

/**
 * Throws the fault `usage` for an engine on which the packages of the vault cannot run: libsodium needs WebAssembly,
 * and better-sqlite3 and find-my-way compile functions from text.
 */
export function assertEngine(): void {
  if (!('WebAssembly' in globalThis)) throw unusable('--jitless', 'has no WebAssembly');
  try {
    Reflect.construct(Function, []);
  } catch (cause) {
    throw unusable('--disallow-code-generation-from-strings', 'compiles no code from text', cause);
  }
}

function unusable(flag: string, lack: string, cause?: unknown): Fault {
  const hint = `remove ${flag} from NODE_OPTIONS`;
  return new Fault('usage', `this Node.js ${lack} (${flag}), which the vault needs`, { hint, cause });
}
