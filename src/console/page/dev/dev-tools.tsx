import { AsCommand } from '../parts/as-command.tsx';
import { route } from '../route.ts';
import { lastCommand } from './control.ts';
import { Faults } from './faults.tsx';
import { RequestPane } from './request-pane.tsx';
import { Requests, requests } from './requests.tsx';
import { Snapshots } from './snapshots.tsx';
import { VaultClock } from './vault-clock.tsx';

/** Shows the controls of a `--dev` vault and its requests. */
export function DevTools() {
  const { request } = route.value.query;
  const chosen = requests.value.find(({ id }) => String(id) === request);
  return (
    <>
      <div class="list dev">
        <header>
          <h1>Dev tools</h1>
        </header>
        <div class="controls">
          <VaultClock />
          <Faults />
          <Snapshots />
        </div>
        <Requests />
        <footer>
          <AsCommand of={{ text: lastCommand.value, needs: 'tenant:read' }} />
        </footer>
      </div>
      {chosen && <RequestPane entry={chosen} />}
    </>
  );
}
