/** Notes of a release. In: the text of CHANGELOG.md and a version. Out: its section, or null without one. */
import { sourceUrl } from "./repository.ts";

/** What is not released yet stands under it. */
export const UNRELEASED = "Unreleased";

/**
 * The section of `heading`: a version, which its heading may follow by a date, or `UNRELEASED`. Links to
 * pages of the repository lead to those of `version`.
 */
export function releaseNotes(changelog: string, heading: string, version: string): string | null {
  const section = changelog.split(/^## /m).slice(1)
    .find((text) => text.split("\n")[0].split(/[ (]/)[0] === heading);
  if (section === undefined) return null;
  const body = section.slice(section.indexOf("\n") + 1).trim();
  return `${body.replace(LINK, (_, path: string) => `](${sourceUrl(version, path)})`)}\n`;
}

/** To a file: neither to a whole address nor within the page. */
const LINK = /\]\((?![a-z]+:|#)([^)\s]{1,300})\)/g;
