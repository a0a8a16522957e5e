import { effect } from '@preact/signals';
import { render } from 'preact';
import { startKeys } from './keys.ts';
import { startRouter } from './route.ts';
import { openSession, session } from './session.ts';
import { Shell } from './shell.tsx';
import { startTheme } from './theme.tsx';

startTheme();
startRouter();
startKeys();
void openSession();
const root = document.getElementById('console');
effect(() => {
  // Keep the empty shell of index.html until the page knows whether it is open.
  if (session.value.kind !== 'opening' && root !== null) render(<Shell />, root);
});
