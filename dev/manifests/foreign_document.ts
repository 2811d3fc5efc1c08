/**
 * Files of other tools that stand beside manifests. In: a file's name. Out: whose it is and what to do to
 * serve what it stands for; null for a name that says nothing.
 */

import { quoteForShell } from "../terminal_text.ts";

export interface ForeignFile {
  /** `settings of Docker Compose`. */
  readonly what: string;
  /** How to get manifests from it; null where there is no way. */
  readonly hint: string | null;
}

const TOOLS: readonly (readonly [name: RegExp, what: string, hint?: (folder: string) => string])[] =
  [
    [
      /^kustomization(?:\.ya?ml)?$/i,
      "the settings of Kustomize",
      (folder) => `kubectl kustomize ${folder} > all.yaml`,
    ],
    [
      /^chart\.ya?ml$/i,
      "the description of a Helm chart",
      (folder) => `helm template ${folder} > all.yaml`,
    ],
    [/^values.*\.(?:ya?ml|json)$/i, "values of a Helm chart"],
    [/^(?:docker-)?compose[\w.-]*\.ya?ml$/i, "services of Docker Compose"],
    [/^(?:package|package-lock|tsconfig[\w.-]*|deno)\.json$/i, "settings of a JavaScript project"],
    [/^skaffold\.ya?ml$/i, "the settings of Skaffold"],
    [/^helmfile[\w.-]*\.ya?ml$/i, "the settings of Helmfile", () => "helmfile template > all.yaml"],
  ];

export function foreignFile(file: string): ForeignFile | null {
  const slash = Math.max(file.lastIndexOf("/"), file.lastIndexOf("\\"));
  const name = file.slice(slash + 1);
  const found = TOOLS.find(([pattern]) => pattern.test(name));
  if (found === undefined) return null;
  const [, what, hint] = found;
  const folder = slash === -1 ? "." : file.slice(0, slash);
  return { what, hint: hint === undefined ? null : `render it: ${hint(quoteForShell(folder))}` };
}
