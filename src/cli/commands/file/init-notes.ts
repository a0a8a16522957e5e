import { keyFileBeside } from '../../credential.ts';

/** A fact and a hint for `report`. */
export type Note = readonly [fact: string, hint: string];

export interface MadeVault {
  readonly file: string;
  /** Absent when a passphrase or a command opens the vault. */
  readonly keyFile: string | undefined;
  readonly keyCommand?: string | undefined;
  /** The file of the API key; absent when the key is printed. */
  readonly keyOut: string | undefined;
}

/** Returns notes for a person at a terminal about a new vault: the files, what to keep, and the next command. */
export function initNotes({ file, keyFile, keyCommand, keyOut }: MadeVault): readonly Note[] {
  const secret = keyCommand === undefined ? 'passphrase' : 'key from the command';
  const made: Note =
    keyFile === undefined
      ? [`wrote ${file}; the ${secret} opens it`, `keep the ${secret}: without it nobody can read the vault`]
      : [
          `wrote ${file}; ${keyFile} opens it`,
          `keep a copy of ${keyFile} in another place: without it nobody can read the vault`,
        ];
  const named = keyFile === undefined || keyFile === keyFileBeside(file) ? '' : ` --key-file '${keyFile}'`;
  const opener = keyCommand === undefined ? named : ` --key-command '${keyCommand}'`;
  const next = `vault apps create --file '${file}'${opener} --api-key-file '${keyOut ?? 'FILE'}' --name backend --type private --rule 'container=/ transform=mask permissions=token:create,token:read'`;
  return [
    made,
    keyOut === undefined
      ? ['the API key below is shown once', `keep it in a file, then create an application: ${next}`]
      : [`wrote the API key to ${keyOut}`, `create an application: ${next}`],
  ];
}
