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
// Keep the empty shell of index.html until the page knows whether it is open.
await untilKnown();
const root = document.getElementById('console');
root?.replaceChildren();
if (root !== null) render(<Shell />, root);
