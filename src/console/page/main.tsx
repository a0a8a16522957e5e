import { render } from 'preact';
import { startKeys } from './keys.ts';
import { startRouter } from './route.ts';
import { openSession } from './session.ts';
import { Shell } from './shell.tsx';
import { startTheme } from './theme.tsx';

startTheme();
startRouter();
startKeys();
const place = document.getElementById('console');
// Remove the empty shell that index.html contains for the first paint.
place?.replaceChildren();
if (place !== null) render(<Shell />, place);
void openSession();
