const POLICY = [
  ...["default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'", "connect-src 'self'"],
  ...["base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"],
  ...["require-trusted-types-for 'script'", "trusted-types 'none'"],
];

const NO_SENSORS = ['camera', 'microphone', 'geolocation', 'usb', 'clipboard-read'].map((name) => `${name}=()`);

/** The header fields of every response below `/ui/`, as names and values in turn. */
export const CONSOLE_FIELDS: readonly string[] = [
  ...['Content-Security-Policy', POLICY.join('; ')],
  ...['X-Frame-Options', 'DENY'],
  ...['Referrer-Policy', 'no-referrer'],
  ...['Cross-Origin-Opener-Policy', 'same-origin'],
  ...['Cross-Origin-Resource-Policy', 'same-origin'],
  ...['Permissions-Policy', [...NO_SENSORS, 'clipboard-write=(self)'].join(', ')],
];
