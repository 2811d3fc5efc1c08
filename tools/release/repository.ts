/** Where the sources of a release are published. In: a version. Out: addresses. */

export const REPOSITORY = "https://github.com/pingress/pingress";

/** Of a file, in the sources of that version. */
export function sourceUrl(version: string, path: string): string {
  return `${REPOSITORY}/blob/v${version}/${path}`;
}

/** Of a file that the release has beside its sources. */
export function assetUrl(version: string, name: string): string {
  return `${REPOSITORY}/releases/download/v${version}/${name}`;
}
