/**
 * A list of the packages in a program, SPDX 2.3 as JSON. In: what the program contains, and the lock
 * with the hashes of packages. Out: the document, the same for the same sources.
 *
 * https://spdx.github.io/spdx-spec/v2.3/
 */
import type { NpmPackage } from "../bundle/packages.ts";
import { REPOSITORY } from "./repository.ts";

export interface ListedProgram {
  /** Of the image: `pingress-controller`. */
  readonly name: string;
  readonly version: string;
  readonly license: string;
  /** By their names in the lock. */
  readonly packages: ReadonlyMap<string, NpmPackage>;
}

export interface SbomSources {
  /** Of `deno.lock`: `sha512-…` in base64, by name in the lock. */
  readonly hashes: Readonly<Record<string, { readonly integrity?: string }>>;
  /** Of a package, as its package.json declares it. */
  readonly licenseOf: (each: NpmPackage) => string;
  /** RFC 3339, of the release. */
  readonly created: string;
}

export function sbomOf(program: ListedProgram, { hashes, licenseOf, created }: SbomSources) {
  const { name, version, license, packages } = program;
  const listed = [...packages].sort(([a], [b]) => a < b ? -1 : 1);
  const root = "SPDXRef-Program";
  const idOf = (key: string) => `SPDXRef-${key.replace(/[^A-Za-z0-9.-]/g, "-")}`;
  return {
    spdxVersion: "SPDX-2.3",
    dataLicense: "CC0-1.0",
    SPDXID: "SPDXRef-DOCUMENT",
    name: `${name} ${version}`,
    documentNamespace: `${REPOSITORY}/sbom/${name}-${version}`,
    creationInfo: { created, creators: ["Tool: deno task release:sbom"] },
    packages: [
      {
        SPDXID: root,
        name,
        versionInfo: version,
        downloadLocation: REPOSITORY,
        licenseConcluded: license,
        licenseDeclared: license,
        copyrightText: "NOASSERTION",
        filesAnalyzed: false,
      },
      ...listed.map(([key, each]) => ({
        SPDXID: idOf(key),
        name: each.name,
        versionInfo: each.version,
        downloadLocation: "NOASSERTION",
        licenseConcluded: "NOASSERTION",
        licenseDeclared: licenseOf(each),
        copyrightText: "NOASSERTION",
        filesAnalyzed: false,
        checksums: checksums(hashes[key]?.integrity),
        externalRefs: [{
          referenceCategory: "PACKAGE-MANAGER",
          referenceType: "purl",
          referenceLocator: `pkg:npm/${each.name.replace("@", "%40")}@${each.version}`,
        }],
      })),
    ],
    relationships: [
      {
        spdxElementId: "SPDXRef-DOCUMENT",
        relationshipType: "DESCRIBES",
        relatedSpdxElement: root,
      },
      ...listed.map(([key]) => ({
        spdxElementId: root,
        relationshipType: "CONTAINS",
        relatedSpdxElement: idOf(key),
      })),
    ],
  };
}

/** `sha512-BASE64` → SPDX's hexadecimal. */
function checksums(integrity: string | undefined) {
  const [, value] = /^sha512-([\w+/=]+)$/.exec(integrity ?? "") ?? [];
  if (value === undefined) return [];
  const bytes = Uint8Array.from(atob(value), (char) => char.charCodeAt(0));
  return [{ algorithm: "SHA512", checksumValue: bytes.toHex() }];
}
