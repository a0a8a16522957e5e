const works = new Set<() => void>();

/**
 * Runs `work` when the process exits, and ignores its errors, which would replace the exit code. Returns a function
 * that cancels this. All works share one listener: Node warns of eleven.
 */
export function atExit(work: () => void): () => void {
  if (works.size === 0) process.on('exit', runAll);
  works.add(work);
  return () => {
    works.delete(work);
    if (works.size === 0) process.off('exit', runAll);
  };
}

function runAll(): void {
  for (const work of works) {
    try {
      work();
    } catch {
      // Windows does not remove open files.
    }
  }
}
