/**
 * Resolves when this turn of the event loop has seen to all that had arrived. Without node:timers/promises, which a command
 * that writes once would load for this alone.
 */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
