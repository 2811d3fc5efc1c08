/**
 * Markdown pages of this repository, as the page tests read them. In: a page's text. Out: the
 * anchors that GitHub makes of its headings, and its relative links.
 */

/** What GitHub makes of a heading: lower case, punctuation removed, blanks to hyphens. */
function slugOf(heading: string): string {
  return heading
    .replace(/\]\([^()]*\)/g, "]")
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replace(/\s/g, "-");
}

function withoutCode(text: string): string {
  return text.replace(/^```[\s\S]*?^```/gm, "");
}

/** Anchors of all headings; those of repeated headings are numbered, as GitHub does. */
export function anchorsOf(text: string): Set<string> {
  const anchors = new Set<string>();
  const counts = new Map<string, number>();
  for (const [, heading] of withoutCode(text).matchAll(/^#{1,6} (.+)$/gm)) {
    const slug = slugOf(heading);
    const count = counts.get(slug) ?? 0;
    counts.set(slug, count + 1);
    anchors.add(count === 0 ? slug : `${slug}-${count}`);
  }
  return anchors;
}

export interface Link {
  /** As written before `#`; empty for a heading of the same page. */
  readonly path: string;
  readonly anchor: string | null;
}

/** Links and images that lead into the repository, in order. */
export function linksOf(text: string): Link[] {
  const links: Link[] = [];
  for (const [, target] of withoutCode(text).matchAll(/\]\(([^)\s]+)\)/g)) {
    if (/^[a-z]+:/.test(target)) continue;
    const [path, anchor] = target.split("#");
    links.push({ path, anchor: anchor ?? null });
  }
  return links;
}
