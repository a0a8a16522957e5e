import { render } from 'preact';
import { startKeys } from './keys.ts';
import { startRouter } from './route.ts';
import { openSession, untilKnown } from './session.ts';
import { Shell } from './shell.tsx';
import { startTheme } from './theme.tsx';

startTheme();
startRouter();
startKeys();
void openSession();
// Until then, keep the empty shell that index.html contains for the first paint.
await untilKnown();
const place = document.getElementById('console');
place?.replaceChildren();
if (place !== null) render(<Shell />, place);
