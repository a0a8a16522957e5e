import { keyFileBeside } from '../../credential.ts';

/** A fact and a hint for `report`. */
export type Note = readonly [fact: string, hint: string];

export interface MadeVault {
  readonly file: string;
  /** Absent when a passphrase opens the vault. */
  readonly keyFile: string | undefined;
  /** The file of the API key; absent when the key is printed. */
  readonly keyOut: string | undefined;
}

/** Returns notes for a person at a terminal about a new vault: the files, what to keep, and the next command. */
export function initNotes({ file, keyFile, keyOut }: MadeVault): readonly Note[] {
  const made: Note =
    keyFile === undefined
      ? [`wrote ${file}; the passphrase opens it`, 'keep the passphrase: without it nobody can read the vault']
      : [
          `wrote ${file}; ${keyFile} opens it`,
          `keep a copy of ${keyFile} in another place: without it nobody can read the vault`,
        ];
  const opener = keyFile === undefined || keyFile === keyFileBeside(file) ? '' : ` --key-file '${keyFile}'`;
  const next = `vault apps create --file '${file}'${opener} --api-key-file '${keyOut ?? 'FILE'}' --name backend --type private --rule 'container=/ transform=mask permissions=token:create,token:read'`;
  return [
    made,
    keyOut === undefined
      ? ['the API key below is shown once', `keep it in a file, then make an application: ${next}`]
      : [`wrote the API key to ${keyOut}`, `make an application: ${next}`],
  ];
}
