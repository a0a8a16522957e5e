export async function steps() {
  return { title: 'x', rows: [{ bench: 'steps' }] };
}
