import { useEffect, useState } from 'preact/hooks';

/** The pause that ends typing, in milliseconds. */
const WAIT_MS = 180;

/** Returns the text as it was at the last pause in typing. */
export function useDebounced(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(setSettled, WAIT_MS, text);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}
