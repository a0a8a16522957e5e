import { execFile } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '../../scripts/build-output.ts';
import { cleanEnvironment, VAULT } from '../scripts/run-script.ts';
import { type Check, CheckFailure, type Figures } from './check.ts';
import { makeFolder } from './folder.ts';
import { blockOf } from './key-recipes.ts';
import { builtText, patchProduct } from './patched-product.ts';

/** The owner of a key file, as the built product compares it. */
const OWNED = builtText('getuid?.()===0)return lstatSync');

/** A number without a name in /etc/passwd, like those that systemd gives to a dynamic user. */
const SERVICE = 61_500;
const STRANGER = 61_501;
const execute = promisify(execFile);

/** The documented commands in their order, by page and a part of their block. */
const INSTALL = ['service.md', 'systemctl enable --now'] as const;
const BLOCKS = [
  INSTALL,
  ['service.md', 'vault doctor --field ok --file'],
  ['backup.md', 'systemctl start vault-backup.service'],
  ['backup.md', 'systemctl stop vault.service'],
] as const;
const ROTATE = ['keys.md', 'systemctl restart vault.service'] as const;
const DRILL = ['backup.md', '# restore-drill.sh BACKUPS KEY_FILE'] as const;
const MOVE = ['backup.md', 'vault restore vault-20261123T030000Z.db'] as const;

/** Further commands of root, each on the running or the stopped service. */
const BY_HAND = `
systemctl stop vault.service vault.socket
vault compact --quiet
vault serve --port 0 --anchor "$VAULT_FILE.anchor" --ready-file by-hand --no-log & until [ -f by-hand ]; do sleep 0.05; done; kill $!; wait $!
systemctl start vault.socket vault.service
vault keys add --label spare --new-key-file spare.key
`;

/**
 * Does what systemd does for the units: gives the folders to the user below a folder of root, starts commands as this
 * user in a mount namespace in which the user reaches its folders, and opens the credential.
 */
const SYSTEMCTL = `
for name in vault vault-backups; do
  if [ ! -L BASE/var/lib/$name ]; then
    mkdir -p -m 700 BASE/var/lib/private/$name
    if [ -d BASE/var/lib/$name ]; then rm -r BASE/var/lib/private/$name; mv BASE/var/lib/$name BASE/var/lib/private/; fi
    ln -s private/$name BASE/var/lib/$name
    chown -R USER:USER BASE/var/lib/private/$name
  fi
done
systemd-creds decrypt --name=vault.key BASE/etc/vault/key.cred - > BASE/run/vault.key
chown USER BASE/run/vault.key
chmod 400 BASE/run/vault.key
as_user() {
  exec unshare --mount sh -euc '
    for name in vault vault-backups; do
      mkdir -p BASE/run/seen/$name
      mount --bind BASE/var/lib/private/$name BASE/run/seen/$name
    done
    mount --rbind BASE/run/seen BASE/var/lib/private
    mkdir -p BASE/run/product BASE/run/node
    mount --bind PRODUCT BASE/run/product
    mount --bind NODE BASE/run/node
    export PATH=BASE/bin:BASE/run/node:$PATH HOME=/ CREDENTIALS_DIRECTORY=BASE/run VAULT_FILE= VAULT_KEY_COMMAND=
    eval "exec setpriv --reuid USER --regid USER --clear-groups --bounding-set -all $1"' sh "$1"
}
command() { sed -n 's|^ExecStart=/usr/bin/env vault |BASE/run/node/node BASE/run/product/BIN |p' BASE/etc/systemd/system/$1.service; }
case "$*" in
  restart*) "$0" stop vault.service; exec "$0" start vault.service ;;
  'start vault-backup.service') as_user "$(command vault-backup)" ;;
  stop*) kill -TERM "$(cat BASE/run/pid)"; while kill -0 "$(cat BASE/run/pid)" 2>/dev/null; do sleep 0.05; done ;;
  *vault.service*)
    rm -f BASE/run/user/ready
    as_user "$(command vault) --port 0 --ready-file BASE/run/user/ready" 2> BASE/run/log > /dev/null &
    echo $! > BASE/run/pid
    until [ -f BASE/run/user/ready ]; do kill -0 $! || { cat BASE/run/log >&2; exit 1; }; sleep 0.05; done ;;
  *) echo "systemctl: unknown words: $*" >&2; exit 64 ;;
esac
`;

/** Makes a machine in a temporary folder, with a stand-in for systemctl. `bin` is the command of a build. */
function makeMachine(bin: string) {
  const { path: base, [Symbol.dispose]: removeFolder } = makeFolder();
  chmodSync(base, 0o755);
  const folders = ['bin', 'etc/systemd/system', 'mnt/safe', 'npm/token-vault/deploy', 'root/vault-setup', 'run/user'];
  for (const name of [...folders, 'secret', 'var/lib']) {
    mkdirSync(path.join(base, name), { recursive: true });
  }
  mkdirSync(path.join(base, 'var/lib/private'), { mode: 0o700 });
  if (process.getuid?.() === 0) chownSync(path.join(base, 'run/user'), SERVICE, SERVICE);
  const place = (text: string) =>
    text.replaceAll(/(?<![\w.])\/(?=(?:var\/lib|etc|mnt\/safe)\/|root\/vault-setup)/g, `${base}/`);
  for (const name of readdirSync(path.join(ROOT, 'deploy'))) {
    writeFileSync(
      path.join(base, 'npm/token-vault/deploy', name),
      place(readFileSync(path.join(ROOT, 'deploy', name), 'utf8')),
    );
  }
  const node = path.dirname(process.execPath);
  const names = { BASE: base, USER: `${SERVICE}`, PRODUCT: ROOT, NODE: node, BIN: path.relative(ROOT, bin) };
  const systemctl = Object.entries(names).reduce((text, [name, value]) => text.replaceAll(name, value), SYSTEMCTL);
  const programs = {
    vault: `#!/bin/bash\nexec '${process.execPath}' '${bin}' "$@"\n`,
    npm: `#!/bin/bash\ntest "$*" = 'root --global' && echo ${base}/npm\n`,
    systemctl: `#!/bin/bash\nset -euo pipefail\n${systemctl}`,
    'restore-drill.sh': blockOf(...DRILL),
  };
  for (const [name, text] of Object.entries(programs)) {
    writeFileSync(path.join(base, 'bin', name), text, { mode: 0o755 });
  }
  const env = cleanEnvironment({
    PATH: `${path.join(base, 'bin')}:${process.env['PATH']}`,
    VAULT_CONFIG_DIR: path.join(base, 'config'),
    SYSTEMD_CREDENTIAL_SECRET: path.join(base, 'secret/host'),
  });
  /** Runs a script as root, with the paths of the machine. */
  const run = async (script: string) => {
    const words = ['-euo', 'pipefail', '-c', place(script)];
    return (await execute('bash', words, { cwd: path.join(base, 'root/vault-setup'), env, timeout: 60_000 })).stdout;
  };
  /** Throws a `CheckFailure` unless each file of the service belongs to it. Returns the number of files. */
  const assertOwners = () => {
    const folder = path.join(base, 'var/lib/private');
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
    for (const name of files) {
      const { uid } = statSync(path.join(folder, name));
      if (uid !== SERVICE) throw new CheckFailure(`${name} belongs to ${uid}, not to the service`);
    }
    return files.length;
  };
  return {
    base,
    run,
    assertOwners,
    async remove() {
      await run('systemctl stop vault.service').catch(() => undefined);
      removeFolder();
    },
  };
}

/** Options of root for the daemon that listens. */
const daemonOf = (base: string) => `--url "$(sed 's/.*"url":"\\([^"]*\\)".*/\\1/' ${base}/run/user/ready)"`;

async function runCommands(bin: string): Promise<Figures> {
  if (process.getuid?.() !== 0) throw new Error('this check needs root, who installs the units');
  const machine = makeMachine(bin);
  const { base } = machine;
  const create = `vault tokens create ${daemonOf(base)} --api-key-file service.key --type token --text x --quiet`;
  try {
    const page = (blocks: readonly (readonly [string, string])[]) => blocks.map((block) => blockOf(...block)).join('');
    const install = `${blockOf(...INSTALL)}
      vault apps create ${daemonOf(base)} --api-key-file management.key \
        --name service --type private --permission token:create --key-out service.key --quiet`;
    await machine.run(install);
    await machine.run(create);
    const shown = await machine.run(page(BLOCKS.slice(1)));
    await machine.run(create);
    await machine.run(`${blockOf('service.md', 'vault doctor --field ok --file')}${BY_HAND}`);
    await machine.run(create);
    const files = machine.assertOwners();
    const refusal = await machine
      .run(
        `chmod 711 /var/lib/private; chmod 755 /var/lib/private/vault; mkdir -p ${base}/run/product ${base}/run/node
         unshare --mount sh -euc 'mount --bind ${ROOT} ${base}/run/product
           mount --bind ${path.dirname(process.execPath)} ${base}/run/node
           exec setpriv --reuid ${STRANGER} --regid ${STRANGER} --clear-groups --bounding-set -all \
             env HOME=/ ${base}/run/node/node ${base}/run/product/${path.relative(ROOT, bin)} doctor --file /var/lib/vault/vault.db --key-command true'`,
      )
      .then(
        () => 'it opened the vault',
        ({ stderr }: { readonly stderr: string }) => stderr,
      );
    const wanted = `belongs to user ${SERVICE}\nhint: run it as user ${SERVICE}, or as root\n`;
    if (!refusal.endsWith(wanted)) throw new CheckFailure(`a stranger reads: ${refusal}`);
    // In the shell of the backup. vault.key is where the administrator keeps it.
    const drilled = await machine.run(
      `${blockOf('backup.md', 'systemctl start vault-backup.service')}restore-drill.sh /var/lib/vault-backups vault.key`,
    );
    if (!drilled.endsWith(': restored, 3 tokens\n')) throw new CheckFailure(`the restore drill prints ${drilled}`);
    const newest = `"$(ls ${base}/var/lib/vault-backups/vault-*.db | tail -n 1)"`;
    // The key from `vault init` has slot 0.
    await machine.run(`${blockOf('service.md', 'vault doctor --field ok --file')}${blockOf(...ROTATE).replace(' N ', ' 0 ')}
      vault backup --verify ${newest} && exit 64 || test $? = 10
      unset VAULT_KEY_COMMAND
      vault doctor --quiet --key-file /mnt/safe/spare.key
      vault doctor --quiet --key-file vault.key && exit 64 || test $? = 10`);
    await machine.run(create);
    await machine.run('systemctl stop vault.service');
    const restored = await machine.run(`
      cp ${newest} vault-20261123T030000Z.db; rm -r ${base}/var/lib/* ${base}/etc/vault; mkdir -m 700 ${base}/var/lib/private
      ${blockOf(...MOVE)}
      ${blockOf(...INSTALL)
        .split('\n')
        .at(-2)}`);
    await machine.run(create);
    machine.assertOwners();
    return { blocks: BLOCKS.length + 3, files, printed: shown.length + restored.length };
  } catch (error) {
    const { stderr } = error as { readonly stderr?: string };
    throw stderr === undefined ? error : new CheckFailure(`a documented command fails: ${stderr}`);
  } finally {
    await machine.remove();
  }
}

/** Checks the documented commands of the systemd service, which root runs on a vault of another user. */
export const CHECK: Check = {
  number: 40,
  name: 'a service of another user',
  quick: true,
  run: () => runCommands(VAULT),
  /** The files that root makes belong to root. */
  async control() {
    using product = patchProduct(OWNED, 'getuid?.()===-1)return lstatSync');
    chmodSync(product.folder, 0o755);
    try {
      return await runCommands(product.bin);
    } catch (error) {
      // The service cannot open the file that root restored.
      if (String(error).includes('vault.db cannot be written')) throw error;
      throw new Error('the control fails for another reason', { cause: error });
    }
  },
};
