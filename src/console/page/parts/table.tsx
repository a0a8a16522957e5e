import type { ComponentChildren } from 'preact';

interface TableOptions {
  readonly caption: ComponentChildren;
  /** Whether the caption is a visible title. Otherwise, only screen readers announce it. */
  readonly hasTitle?: boolean;
  readonly heads?: readonly string[];
  /** The cells of each row. The first one names the row. */
  readonly rows: readonly (readonly ComponentChildren[])[];
}

/** Shows a table of text. */
export function Table({ caption, hasTitle, heads, rows }: TableOptions) {
  return (
    <table>
      <caption class={hasTitle ? undefined : 'unseen'}>{caption}</caption>
      {heads && (
        <thead>
          <tr>
            {heads.map((head) => (
              <th scope="col" key={head}>
                {head}
              </th>
            ))}
          </tr>
        </thead>
      )}
      <tbody>
        {rows.map(([first, ...cells], at) => (
          <tr key={at}>
            <th scope="row">{first}</th>
            {cells.map((cell, index) => (
              <td key={index}>{cell}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
