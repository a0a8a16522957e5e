/** A command line of a transcript, and its expected output. */
export interface Step {
  /** The text without `$ ` or `NAME <- `. */
  readonly command: string;
  /** The variable that stores the output. */
  readonly capture: string | undefined;
  readonly stdin: readonly string[];
  readonly expected: StepOutput;
  /** The line of the command, counted from 0. */
  readonly line: number;
}

export interface StepOutput {
  readonly stdout: readonly string[];
  readonly stderr: readonly string[];
  readonly exitCode: number;
}

/** A transcript in the format that README.md describes. */
export interface Script {
  readonly lines: readonly string[];
  readonly steps: readonly Step[];
  readonly files: ReadonlyMap<string, string>;
}

const SPECIAL = /^(?:[$#!?<] |\\|-- |[A-Z_]+ <- |#$|$)/;

export function parseScript(text: string): Script {
  const all = text.split('\n');
  const end = all.findIndex((line) => /^-- .+ --$/.test(line));
  const lines = end < 0 ? all : all.slice(0, end);
  const steps = lines.flatMap((line, at) => {
    const start = /^(?:\$ |(?<capture>[A-Z_]+) <- )(?<command>.*)$/.exec(line)?.groups;
    return start === undefined ? [] : [parseStep(lines, at, start['command'] ?? '', start['capture'])];
  });
  return { lines, steps, files: end < 0 ? new Map() : parseFiles(all.slice(end)) };
}

/** Returns the text of the transcript with `outputs`, one for each step, as expected output. */
export function withOutputs(script: Script, outputs: readonly StepOutput[]): string {
  const kept = [...script.lines];
  for (const [at, step] of [...script.steps.entries()].reverse()) {
    const body = bodyOf(script.lines, step.line);
    const output = step.capture === undefined ? outputs[at] : undefined;
    const lines = [...step.stdin.map((line) => `< ${line}`), ...(output === undefined ? [] : printOutput(output))];
    kept.splice(step.line + 1, body.length, ...lines);
  }
  const files = [...script.files].map(([name, content]) => `-- ${name} --\n${content}`);
  return kept.join('\n') + (files.length === 0 ? '' : `\n${files.join('')}`);
}

function parseStep(lines: readonly string[], line: number, command: string, capture: string | undefined): Step {
  const body = bodyOf(lines, line);
  const marked = (mark: string) => body.filter((one) => one.startsWith(mark)).map((one) => one.slice(mark.length));
  const stdout = body.filter((one) => !/^[<!?] /.test(one)).map((one) => one.replace(/^\\/, ''));
  const expected = { stdout, stderr: marked('! '), exitCode: Number(marked('? ')[0] ?? 0) };
  return { command, capture, stdin: marked('< '), expected, line };
}

/** Returns the lines up to the next step, comment or blank line. */
function bodyOf(lines: readonly string[], line: number): readonly string[] {
  const rest = lines.slice(line + 1);
  const end = rest.findIndex((one) => /^(?:$|#|\$ |[A-Z_]+ <- )/.test(one));
  return end < 0 ? rest : rest.slice(0, end);
}

function printOutput({ stdout, stderr, exitCode }: StepOutput): readonly string[] {
  return [
    ...stdout.map((line) => (SPECIAL.test(line) ? `\\${line}` : line)),
    ...stderr.map((line) => `! ${line}`),
    ...(exitCode === 0 ? [] : [`? ${exitCode}`]),
  ];
}

function parseFiles(lines: readonly string[]): ReadonlyMap<string, string> {
  const files = new Map<string, string>();
  let name = '';
  for (const line of lines) {
    const header = /^-- (.+) --$/.exec(line)?.[1];
    if (header !== undefined) name = header;
    files.set(name, header === undefined ? `${files.get(name)}${line}\n` : '');
  }
  // Omit the empty string after the last line break.
  files.set(name, (files.get(name) ?? '').replace(/\n\n$/, '\n'));
  return files;
}
