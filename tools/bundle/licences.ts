/** Licences of the packages that a bundle contains. In: packages. Out: one text, as most licences ask for. */
import { join } from "node:path";
import type { NpmPackage } from "./packages.ts";

const LICENCE = /^(?:licen[cs]e|notice|copying)/i;

/** By name and version. */
export function licencesText(packages: readonly NpmPackage[]): string {
  return packages.toSorted((a, b) => a.name < b.name ? -1 : 1)
    .map(({ name, version, localPath }) => {
      const files = Array.from(Deno.readDirSync(localPath), ({ name }) => name)
        .filter((file) => LICENCE.test(file)).sort();
      const texts = files.map((file) => Deno.readTextFileSync(join(localPath, file)).trim());
      const declared = JSON.parse(Deno.readTextFileSync(join(localPath, "package.json"))).license;
      return `${name} ${version}\n\n${texts.join("\n\n") || `Licence: ${declared}`}\n`;
    })
    .join(`\n${"-".repeat(80)}\n\n`);
}
