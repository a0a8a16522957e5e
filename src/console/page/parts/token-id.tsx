import type { Token } from '../../../client/create-client.ts';

/** The number of characters at the end of an id that a narrow column keeps. */
const END = 12;

/** Shows an id as the code of a row's link, on one line. A narrow column cuts its middle, because ids of one import differ at the end only. */
export function TokenId({ id }: { readonly id: string }) {
  const letters = [...id];
  const cut = Math.max(0, letters.length - END);
  return (
    <>
      <span>{letters.slice(0, cut).join('')}</span>
      <span>{letters.slice(cut).join('')}</span>
    </>
  );
}

/** The columns of a list of tokens with their ids and containers. */
export const ID_COLUMN = {
  show: ({ id }: Token) => <TokenId id={id} />,
  titleOf: ({ id }: Token) => id,
  isCode: true,
  size: 'long',
} as const;

const containersOf = ({ containers = [] }: Token): string => containers.join('  ');

export const CONTAINERS_COLUMN = { show: containersOf, titleOf: containersOf, isCode: true };
