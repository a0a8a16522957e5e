const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u;
const COMBINING = /\p{M}/u;

/** How many columns of a terminal a text takes. */
export function displayWidth(text: string): number {
  let width = 0;
  for (const character of text) width += COMBINING.test(character) ? 0 : WIDE.test(character) ? 2 : 1;
  return width;
}

/** Column widths that fit into `available`: the widest give first, and none gets narrower than `least`. */
export function fitWidths(natural: readonly number[], available: number, least: number): readonly number[] {
  const widths = [...natural];
  let excess = widths.reduce((sum, width) => sum + width, 0) - available;
  while (excess > 0) {
    const widest = Math.max(...widths);
    if (widest <= least) return widths;
    const runnerUp = Math.max(least, ...widths.filter((width) => width < widest));
    const equals = widths.flatMap((width, at) => (width === widest ? [at] : []));
    const step = Math.max(1, Math.min(widest - runnerUp, Math.ceil(excess / equals.length)));
    for (const at of equals) {
      const cut = Math.min(step, excess);
      widths[at] = widest - cut;
      excess -= cut;
    }
  }
  return widths;
}
