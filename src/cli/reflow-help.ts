/**
 * Help whose paragraphs fit into `width` columns. What commander lays out fits already; texts of our own are broken anew, as
 * paragraphs. Indented lines are examples and tables: they stay as they are.
 */
export function reflowHelp(text: string, width: number): string {
  const lines = text.split('\n');
  const made: string[] = [];
  for (let at = 0; at < lines.length; ) {
    let end = at;
    while (end < lines.length && isProse(lines[end])) end++;
    if (end === at) end++;
    const paragraph = lines.slice(at, end);
    made.push(
      ...(paragraph.some((line) => isProse(line) && line.length > width)
        ? wrap(paragraph.join(' '), width)
        : paragraph),
    );
    at = end;
  }
  return made.join('\n');
}

const isProse = (line: string | undefined): line is string => line !== undefined && /^\S/.test(line);

function wrap(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}
