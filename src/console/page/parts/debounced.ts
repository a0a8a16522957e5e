import { useEffect, useState } from 'preact/hooks';

/** Milliseconds after the last key. */
const WAIT_MS = 180;

/** Returns a text as it was when the typing paused last. */
export function useDebounced(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(setSettled, WAIT_MS, text);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}
