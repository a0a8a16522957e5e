import { Fault } from '../../core/fault.ts';
import { subcommand } from '../commands/subcommand.ts';
import { inOwnName } from '../help/in-own-name.ts';
import { writeOut } from '../output/standard-output.ts';
import type { Suggestions } from './suggest.ts';

/**
 * The completion script of each shell. A script runs `vault completion suggest -- WORDS`, where the last word is
 * incomplete. That command prints one suggestion a line, `value<TAB>description`, or the single line `:files`.
 */
export const COMPLETION_SCRIPTS = {
  bash: `# vault completion for bash: eval "$(vault completion bash)"
_vault() {
  local words=() word glue='' full kept value rest i
  # Bash splits words at : and =, and replaces only the text after the last of these characters.
  for ((i = 1; i <= COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    if [[ \${#words[@]} -gt 0 && ( -n $glue || $word == [:=]* ) ]]; then
      words[\${#words[@]}-1]+=$word
    else
      words+=("$word")
    fi
    if [[ $word == *[:=] ]]; then glue=1; else glue=''; fi
  done
  full=\${words[\${#words[@]}-1]}
  kept=\${full%"\${full##*[:=]}"}
  COMPREPLY=()
  while IFS=$'\\t' read -r value rest; do
    if [[ $value == :files ]]; then
      compopt -o filenames 2>/dev/null
      while IFS= read -r value; do COMPREPLY+=("\${value#"$kept"}"); done < <(compgen -f -- "$full")
    else
      COMPREPLY+=("\${value#"$kept"}")
    fi
  done < <("\${COMP_WORDS[0]}" completion suggest -- "\${words[@]}" 2>/dev/null)
}
complete -F _vault vault
`,
  zsh: `#compdef vault
# vault completion for zsh: eval "$(vault completion zsh)", or as _vault in a folder of $fpath
_vault() {
  local -a lines values
  local line text
  lines=("\${(@f)$("\${words[1]}" completion suggest -- "\${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ \${lines[1]} == ':files' ]]; then
    _files
    return
  fi
  for line in "\${lines[@]}"; do
    text=\${line#*$'\\t'}
    [[ -n $line ]] && values+=("\${\${line%%$'\\t'*}//:/\\\\:}\${text:+:$text}")
  done
  _describe -t vault vault values
}
if [[ \${funcstack[1]:-} == _vault ]]; then
  _vault "$@"
else
  (( \${+functions[compdef]} )) || { autoload -Uz compinit && compinit -i; }
  compdef _vault vault
fi
`,
  fish: `# vault completion for fish: vault completion fish | source
function __vault_suggest
    set -l words (commandline -opc) (commandline -ct)
    set -l lines (command $words[1] completion suggest -- $words[2..-1] 2>/dev/null)
    if test (count $lines) -eq 0
        return
    end
    if test "$lines[1]" = ':files'
        __fish_complete_path (commandline -ct)
    else
        printf '%s\\n' $lines
    end
end
complete -c vault -f -a '(__vault_suggest)'
`,
  powershell: `# vault completion for PowerShell: vault completion powershell | Out-String | Invoke-Expression
Register-ArgumentCompleter -Native -CommandName vault -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $words = @($commandAst.CommandElements | Where-Object { $_.Extent.StartOffset -lt $cursorPosition } | ForEach-Object { $_.ToString() })
    $program = $words[0]
    $words = @($words | Select-Object -Skip 1)
    # PowerShell drops an empty argument, so pass quotation marks.
    if ($wordToComplete -eq '') { $words += '""' }
    $lines = @(& $program completion suggest -- @words 2>$null)
    if ($lines.Count -gt 0 -and $lines[0] -eq ':files') {
        [System.Management.Automation.CompletionCompleters]::CompleteFilename($wordToComplete)
        return
    }
    foreach ($line in $lines) {
        $value, $description = $line -split "\`t", 2
        if (-not $description) { $description = $value }
        [System.Management.Automation.CompletionResult]::new($value, $value, 'ParameterValue', $description)
    }
}
`,
} as const;

export type CompletionShell = keyof typeof COMPLETION_SCRIPTS;

const SHELLS = Object.keys(COMPLETION_SCRIPTS) as CompletionShell[];

/** `vault completion`: prints the completion script of a shell, or suggestions for the script. Opens no vault. */
export const defineCompletion = subcommand({
  args: {
    '<shell>': SHELLS.join(', '),
    '[words...]': 'for `suggest`: the typed words; the last may be incomplete',
  },
  examples: ['eval "$(vault completion bash)"', 'vault completion fish > ~/.config/fish/completions/vault.fish'],
  async run({ words: [name, ...words], env }) {
    const shell = SHELLS.find((known) => known === name);
    if (name === 'suggest') {
      const { suggest } = await import('./suggest.ts');
      await writeOut(printSuggestions(await suggest(words, env)));
    } else if (shell !== undefined && words.length === 0) await writeOut(inOwnName(COMPLETION_SCRIPTS[shell]));
    else throw new Fault('usage', `<shell> must be one of ${SHELLS.join(', ')}`);
    return 0;
  },
});

function printSuggestions(found: Suggestions): string {
  if (found === 'files') return ':files\n';
  return found.map(({ value, description }) => `${value}\t${description}\n`).join('');
}
