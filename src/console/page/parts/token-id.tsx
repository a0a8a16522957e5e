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
