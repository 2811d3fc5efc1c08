/**
 * Signatures of images. In: their digests. Out: command lines of cosign, which signs without a key, by
 * the identity of the workflow that runs it. Pure.
 *
 * https://docs.sigstore.dev/cosign/signing/overview/
 */

export interface SignedImage {
  /** Without a tag: `ghcr.io/pingress/pingress-controller`. */
  readonly repository: string;
  /** `sha256:…`: a tag could be another image by now. */
  readonly digest: string;
  /** The list of its packages. */
  readonly sbom: string;
}

export function signCommands({ repository, digest, sbom }: SignedImage): string[][] {
  const reference = `${repository}@${digest}`;
  return [
    ["sign", "--yes", "--recursive", reference],
    ["attest", "--yes", "--type", "spdxjson", "--predicate", sbom, reference],
  ];
}

/** The digest in what `docker buildx imagetools inspect` prints; null without one. */
export function digestOf(inspected: string): string | null {
  return /^Digest:\s+(sha256:[0-9a-f]{64})$/m.exec(inspected)?.[1] ?? null;
}
