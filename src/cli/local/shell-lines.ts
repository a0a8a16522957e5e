/** How a shell is told to set a variable, and to forget one. */
interface ShellRow {
  readonly set: (name: string, value: string) => string;
  readonly unset: (name: string) => string;
}

/** The shells that `vault env` speaks to. Names are our own; values are quoted so that they are nothing but values. */
export const SHELLS = {
  sh: {
    set: (name, value) => `export ${name}='${value.replaceAll("'", `'\\''`)}'`,
    unset: (name) => `unset ${name}`,
  },
  fish: {
    set: (name, value) => `set -gx ${name} '${value.replace(/[\\']/g, '\\$&')}'`,
    unset: (name) => `set -e ${name}`,
  },
  powershell: {
    // To PowerShell the typographic ones are quotation marks, too.
    set: (name, value) => `$env:${name} = '${value.replace(/['\u2018-\u201b]/g, '$&$&')}'`,
    unset: (name) => `Remove-Item Env:${name} -ErrorAction Ignore`,
  },
} as const satisfies Record<string, ShellRow>;

export type Shell = keyof typeof SHELLS;
