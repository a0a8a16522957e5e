import { Command } from 'commander';
import { globalNames, ownOptions, TOPICS, type Topic } from '../src/cli/help/help.ts';
import { inOwnName } from '../src/cli/help/in-own-name.ts';
import { VERSION } from '../src/cli/help/version.ts';
import { allEntries, createProgram, type Entry } from '../src/cli/program.ts';

type Words = readonly string[];
type Rows = Topic['rows'];

/**
 * Resolves to the man pages by file name: `vault.1`, one for each command, and `token-vault.1`, the first page under
 * the other name. The build writes them to dist/man.
 */
export async function manPages(): Promise<ReadonlyMap<string, string>> {
  const program = createProgram(() => undefined);
  const entries = allEntries();
  const overview = overviewPage(program, entries);
  const pages = new Map([
    ['vault.1', overview],
    ['token-vault.1', inOwnName(overview.replaceAll(/(?<=^\.B |\\fB)vault(?= |$)/gm, 'token-vault'), 'token-vault')],
  ]);
  for (const entry of entries) pages.set(`${nameOf(entry.words)}.1`, await commandPage(program, entry, entries));
  return pages;
}

async function commandPage(program: Command, entry: Entry, all: readonly Entry[]): Promise<string> {
  const { words, summary, define } = entry;
  const command = new Command(words.join(' ')).copyInheritedSettings(program);
  command.parent = program;
  await define(command);
  const helper = command.createHelp();
  const [text = '', examples = ''] = textBelowHelp(command).split('\nExamples:\n');
  const globals = quote(globalNames(command).join(', '));
  const siblings = all.filter((each) => each.words[0] === words[0] && each !== entry);
  return page(words, summary, {
    SYNOPSIS: `.B ${quote(helper.commandUsage(command))}`,
    DESCRIPTION: prose(`${summary}.\n\n${text}`),
    ARGUMENTS: terms(command.registeredArguments.map((each) => [helper.argumentTerm(each), each.description])),
    OPTIONS: terms(ownOptions(command, helper).map(({ flags, description }) => [flags, description])),
    'GLOBAL OPTIONS': globals === '' ? '' : `${globals}\n.PP\n${OVERVIEW}`,
    ENVIRONMENT: `Each option names its variable.\n${OVERVIEW}`,
    'EXIT STATUS': OVERVIEW,
    EXAMPLES: verbatim(examples.trimEnd().split('\n')),
    'SEE ALSO': references([[], ...siblings.map((each) => each.words)]),
  });
}

function overviewPage(program: Command, entries: readonly Entry[]): string {
  return page([], program.description().replace(/\.$/, ''), {
    SYNOPSIS: '.B vault\n.I command\n[options]',
    DESCRIPTION: prose(`${program.description()}\n\n${textBelowHelp(program)}`),
    COMMANDS: terms(entries.map(({ words, summary }) => [`vault ${words.join(' ')}`, summary])),
    OPTIONS: terms(ownOptions(program).map(({ flags, description }) => [flags, description])),
    'GLOBAL OPTIONS': topic(TOPICS.options),
    ENVIRONMENT: topic(TOPICS.environment),
    'EXIT STATUS': topic(TOPICS['exit-codes']),
    'SEE ALSO': references(entries.map(({ words }) => words)),
  });
}

/** Returns the text that `addHelpText` adds below the help. Commander writes the help itself first. */
function textBelowHelp(command: Command): string {
  const written: string[] = [];
  command.configureOutput({ writeOut: (text) => written.push(text) }).outputHelp();
  return written.slice(1).join('');
}

const nameOf = (words: Words) => ['vault', ...words].join('-');
const reference = (words: Words) => `\\fB${quote(nameOf(words))}\\fR(1)`;
const OVERVIEW = `See ${reference([])}.`;

/** Returns a man page without empty sections. The page has no date, so that equal sources make equal pages. */
function page(words: Words, summary: string, sections: Readonly<Record<string, string>>): string {
  const name = quote(nameOf(words));
  const line = `${name} \\- ${quote(summary.charAt(0).toLowerCase() + summary.slice(1))}`;
  const parts = Object.entries({ NAME: line, ...sections }).filter(([, text]) => text !== '');
  const head = `.TH ${name.toUpperCase()} 1 "" "vault ${VERSION}" "vault manual"\n.nh\n.ad l\n`;
  return head + parts.map(([heading, text]) => `.SH ${heading}\n${text}\n`).join('');
}

function topic({ lead = '', rows, tail = '' }: Topic): string {
  return [prose(lead), terms(rows), prose(tail)].filter((part) => part !== '').join('\n');
}

function terms(rows: Rows): string {
  const styled = (term: string) => quote(term).replace(/<[^>]*>|\[[^\]]*\]/g, '\\fI$&\\fB');
  return rows.map(([term, text]) => `.TP\n\\fB${styled(term)}\\fR\n${quote(text)}`).join('\n');
}

function references(all: readonly Words[]): string {
  return all.map(reference).join(',\n');
}

function verbatim(lines: Words): string {
  return `.PP\n.nf\n${quote(lines.join('\n').replace(/^ {2}/gm, ''))}\n.fi`;
}

/** Returns text as roff paragraphs. Keeps indented lines, which are examples, as they are. */
function prose(text: string): string {
  const blocks = text.match(/^ .*(?:\n .*)*|^\S.*(?:\n\S.*)*/gm) ?? [];
  return blocks
    .map((block) => (block.startsWith(' ') ? verbatim(block.split('\n')) : `.PP\n${quote(block)}`))
    .join('\n');
}

/** Escapes for characters that groff would print as similar ones, which a shell does not accept. */
const NAMES: Readonly<Record<string, string>> = {
  '\\': '\\e',
  '-': '\\-',
  "'": '\\(aq',
  '"': '\\(dq',
  '`': '\\(ga',
  '^': '\\(ha',
  '~': '\\(ti',
};

/** Escapes plain text for roff, including dots at line starts, which would begin a request. */
function quote(text: string): string {
  const code = (character: string) => `\\[u${character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}]`;
  return text.replace(/[\\\-'"`^~]|[^ -~\n]/gu, (each) => NAMES[each] ?? code(each)).replace(/^\./gm, '\\&.');
}
