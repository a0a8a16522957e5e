import { EXIT_CODES } from './exit-codes.ts';

/** What stands at the end of `vault help`. */
export function overviewFooter(): string {
  const codes = Object.entries(EXIT_CODES).map(([code, meaning]) => `  ${code.padEnd(4)} ${meaning}`);
  return `
Flags for which vault, who asks and how results look go before or behind every
operation; \`vault help tokens get\` lists them with their environment variables.

Examples:
  vault serve --dev              try it: a vault that is gone when you stop it
  vault init                     make ./vault.db and its key
  vault tokens create            on a terminal: asks for what it needs
  vault tokens create --type card --data @card.json --field id
  vault tokens list --all -o ndjson
  vault help tokens create       every flag of one command

Exit codes:
${codes.join('\n')}`;
}
