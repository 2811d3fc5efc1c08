/**
 * Results in a page that people write too. In: the page, and a text. Out: the page with the text
 * between its two markers, in place of what stood there.
 */

export const END = "<!-- end of results -->";

/** The page with `text` between the marker `begin` and `END`; null where it lacks them. */
export function replaceMarked(page: string, begin: string, text: string): string | null {
  const from = page.indexOf(begin);
  const to = page.indexOf(END);
  if (from === -1 || to < from) return null;
  return `${page.slice(0, from + begin.length)}\n\n${text}\n${page.slice(to)}`;
}
