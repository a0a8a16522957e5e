import type { ComponentChildren } from 'preact';

interface TableOptions {
  readonly caption: ComponentChildren;
  /** Whether the caption is a visible title. Otherwise, only screen readers announce it. */
  readonly hasTitle?: boolean;
  readonly heads?: readonly string[];
  /** The class of a table whose heads only screen readers announce. */
  readonly class?: string;
  /** The cells of each row. The first one names the row. */
  readonly rows: readonly (readonly ComponentChildren[])[];
}

/** Shows a table of text. */
export function Table({ caption, hasTitle, heads, class: name, rows }: TableOptions) {
  return (
    <table class={name}>
      <caption class={hasTitle ? undefined : 'unseen'}>{caption}</caption>
      {heads && (
        <thead class={name && 'unseen'}>
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
