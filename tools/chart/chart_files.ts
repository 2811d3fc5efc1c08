/**
 * The files of the chart that are made from code. In: the version, the flags and the manifests. Out:
 * each path relative to the repository, with its text.
 */
import { VERSION } from "../../shared/version.ts";
import { flagsTemplate } from "./flags_template.ts";
import { schemaText } from "./schema.ts";
import { TEMPLATE_SOURCES, templateText } from "./templates.ts";
import { VALUES } from "./values.ts";
import { valuesText } from "./values_text.ts";

export const CHART = "charts/pingress";

/** @param read The text of a file of the repository. */
export function chartFiles(read: (path: string) => string): readonly (readonly [string, string])[] {
  const files = [
    ["Chart.yaml", chartText()],
    ["values.yaml", valuesText(VALUES)],
    ["values.schema.json", schemaText(VALUES)],
    ["templates/_flags.tpl", flagsTemplate()],
    ...TEMPLATE_SOURCES.map((source) =>
      [`templates/${source.template}`, templateText(source, read)] as const
    ),
  ] as const;
  return files.map(([path, text]) => [`${CHART}/${path}`, text] as const);
}

/** Chart and app have one version: the chart is made from the app's flags. */
function chartText(): string {
  return `# Made by deno task docs:update; do not edit.
apiVersion: v2
name: pingress
description: An ingress controller for Kubernetes with its reverse proxy, which never reloads
type: application
version: ${VERSION}
appVersion: ${VERSION}
kubeVersion: ">=1.27.0-0"
home: https://github.com/pingress/pingress
sources:
  - https://github.com/pingress/pingress
keywords:
  - ingress
  - ingress-controller
  - gateway-api
  - reverse-proxy
annotations:
  artifacthub.io/category: networking
  artifacthub.io/license: Apache-2.0
`;
}
