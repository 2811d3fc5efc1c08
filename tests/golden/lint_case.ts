/**
 * The golden case of lint. In: `lint/folder`. Out: the text of each format, and of the same with the
 * ConfigMap and an accepted annotation. Files are named as from the root of the repository.
 */
import { PLAIN } from "../../cli/terminal/problem_text.ts";
import { inputOf, lint } from "../../cli/lint/lint.ts";
import type { LintResult } from "../../cli/lint/finding.ts";
import { FORMATS, type LintOptions } from "../../cli/lint/options.ts";
import { OUTPUTS } from "../../cli/lint/main.ts";
import { findConfigMap } from "../../cli/lint/cluster_findings.ts";
import { parseManifestFile } from "../../dev/manifests/file.ts";
import { Manifests } from "../../dev/manifests/manifests.ts";
import type { Position } from "../../dev/manifests/position.ts";

const FOLDER = new URL("lint/folder/", import.meta.url);

const NAME = "tests/golden/lint/folder";

const NOW = Date.parse("2030-01-01T00:00:00Z");

export const LINT_DEFAULTS: LintOptions = {
  nginxClasses: ["nginx"],
  controllerNames: ["k8s.io/ingress-nginx"],
  watchNamespaces: [],
  hostOwnership: "namespace",
  backend: "HostPort",
  allowExternalName: false,
  acceptUnsupported: [],
  allowAcceptUnsupportedAnnotation: false,
};

export function lintTexts(
  files: Readonly<Record<string, string>>,
  options: Partial<LintOptions> = {},
  configMap: string | null = null,
): LintResult {
  const manifests = manifestsOf(files);
  const objects = manifests.files.flatMap((file) => file.objects);
  return lint(
    inputOf(manifests),
    configMap === null ? null : findConfigMap(objects, configMap),
    { ...LINT_DEFAULTS, ...options },
    () => NOW,
  );
}

function manifestsOf(files: Readonly<Record<string, string>>): Manifests {
  return new Manifests(
    Object.entries(files).map(([file, text]) => parseManifestFile(file, text)),
  );
}

export function folderTexts(): Record<string, string> {
  const names = Array.from(Deno.readDirSync(FOLDER), ({ name }) => name).sort();
  return Object.fromEntries(
    names.map((name) => [`${NAME}/${name}`, Deno.readTextFileSync(new URL(name, FOLDER))]),
  );
}

/** The expected text by its file. */
export function lintOutputs(): readonly (readonly [file: URL, text: string])[] {
  const files = folderTexts();
  const plain = lintTexts(files);
  const accepted = lintTexts(
    files,
    { acceptUnsupported: ["limit-rps", "enable-modsecurity"] },
    "ingress-nginx/ingress-nginx-controller",
  );
  const manifests = manifestsOf(files);
  const terminal = { ...PLAIN, excerptAt: (at: Position) => manifests.excerptAt(at) };
  return [
    ...FORMATS.map((format) => [fileOf(format), OUTPUTS[format](plain, terminal)] as const),
    [fileOf("text-accepted"), OUTPUTS.text(accepted, terminal)] as const,
  ];
}

function fileOf(name: string): URL {
  return new URL(`lint/${name}.out`, import.meta.url);
}
