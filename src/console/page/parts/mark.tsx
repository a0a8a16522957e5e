/** Shows the drawing of favicon.svg. It is inline, because an image file would need one more request. */
export function Mark({ size }: { readonly size: number }) {
  return (
    <svg viewBox="0 0 18 18" width={size} height={size} aria-hidden="true">
      <rect width="18" height="18" rx="4" fill="#2a4bd7" />
      <g fill="none" stroke="#fff" stroke-width="1.6">
        <circle cx="9" cy="9" r="5" />
        <path d="M9 4v5m0 0-4.3 2.5M9 9l4.3 2.5" />
      </g>
    </svg>
  );
}
