/**
 * Templates of the chart that have the objects of manifests/ and overlays/. In: the text of a
 * manifest. Out: the same text with the namespace of the release, Helm's labels, and values in place
 * of what an operator edits.
 *
 * Text and not objects, so that comments and order stay, and the template reads like the manifest.
 */

/** A template, and what it is made from. */
export interface TemplateSource {
  /** Below `templates/` of the chart. */
  readonly template: string;
  /** Relative to the repository, in this order. */
  readonly manifests: readonly string[];
  /** When it is rendered: `.Values.gateway.create`. */
  readonly condition: string;
  /** Parts of the text, with what takes their place; each is there. */
  readonly replace?: readonly (readonly [text: string, by: string])[];
  /** Lines below `metadata.annotations` of each object, for hooks. */
  readonly annotations?: readonly string[];
  /** Objects that outlive the release, as proxies do: `ServiceAccount pingress-proxy-server`. */
  readonly kept?: readonly string[];
  /** In front of each document of this namespace and after it: a loop, for example. */
  readonly around?: { readonly namespace: string; readonly before: string; readonly after: string };
}

/** During `helm test` only. */
const TEST_HOOK = [
  "helm.sh/hook: test",
  'helm.sh/hook-weight: "-5"',
  "helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded,hook-failed",
];

/** Not deleted with the release. */
const KEPT = "helm.sh/resource-policy: keep";

/** Without it, no proxy can be created, and no token of one is valid. */
const PROXY_ACCOUNT = "ServiceAccount pingress-proxy-server";

const SERVED_ROLE = "pingress-controller-served";

/** Templates that are made from manifests. */
export const TEMPLATE_SOURCES: readonly TemplateSource[] = [
  {
    template: "rbac.yaml",
    manifests: ["manifests/hostport.yaml"],
    condition: 'and .Values.rbac.create (eq .Values.rbac.scope "cluster")',
    kept: [PROXY_ACCOUNT],
  },
  {
    template: "rbac-namespaces.yaml",
    manifests: ["manifests/namespaced/rights.yaml"],
    condition: 'and .Values.rbac.create (eq .Values.rbac.scope "namespaces")',
    kept: [PROXY_ACCOUNT],
    around: {
      namespace: "default",
      before:
        '{{- range required "rbac.scope namespaces needs controller.flags.watchNamespace: the ' +
        'namespaces that are served" .Values.controller.flags.watchNamespace }}',
      after: "{{- end }}",
    },
  },
  {
    template: "gateway-rights.yaml",
    manifests: ["overlays/gateway/cluster-role.yaml", "overlays/gateway/admission-policy.yaml"],
    condition: ".Values.gateway.create",
    replace: [
      [
        "expression: '[\"pingress\"]'\n",
        "expression: {{ prepend $.Values.gateway.furtherClasses $.Values.gateway.className | " +
        "toJson | quote }}\n",
      ],
      [
        "expression: '\"10000-10255\"'\n",
        'expression: {{ include "pingress.listenRange" $ | toJson | quote }}\n',
      ],
    ],
  },
  {
    template: "gateway-class.yaml",
    manifests: ["overlays/gateway/gateway-class.yaml"],
    condition: ".Values.gateway.create",
    // Helm would delete the class, and a class in use stays in deletion without the controller.
    kept: ["GatewayClass pingress"],
    replace: [["  name: pingress\n", "  name: {{ $.Values.gateway.className | quote }}\n"]],
  },
  {
    template: "admission-workloads.yaml",
    manifests: ["overlays/admission/controller-workloads.yaml"],
    condition: ".Values.admission.create",
    replace: [[
      "expression: '\"ghcr.io/pingress/\"'\n",
      'expression: {{ default (printf "%s/" $.Values.image.registry) ' +
      "$.Values.admission.imagePrefix | toJson | quote }}\n",
    ]],
  },
  {
    template: "admission-priority-class.yaml",
    manifests: ["overlays/admission/priority-class.yaml"],
    condition: "and .Values.admission.create .Values.priorityClass.create",
    replace: [
      ["'pingress-proxy'", "'pingress-proxy{{ include \"pingress.suffix\" $ }}'"],
      [
        "PriorityClass pingress-proxy ",
        'PriorityClass pingress-proxy{{ include "pingress.suffix" $ }} ',
      ],
    ],
  },
  {
    template: "tests/check-rights.yaml",
    manifests: ["overlays/check/cluster-role.yaml", "overlays/check/role.yaml"],
    condition: ".Values.check.create",
    annotations: TEST_HOOK,
  },
];

/** Kinds without a namespace: their names are of the whole cluster. */
const CLUSTER_KINDS = new Set([
  "ClusterRole",
  "ClusterRoleBinding",
  "ValidatingAdmissionPolicy",
  "ValidatingAdmissionPolicyBinding",
]);

const NAMESPACE = "pingress-system";

/** @param read The text of a manifest. */
export function templateText(source: TemplateSource, read: (path: string) => string): string {
  const { manifests, condition } = source;
  const documents = manifests.flatMap((path) => read(path).trimEnd().split(/^---\n/m));
  const clusterNames = documents.flatMap(clusterName);
  return [
    `{{- /* Made from ${manifests.join(" and ")} by deno task docs:update; do not edit. */}}`,
    `{{- if ${condition} }}`,
    documents.map((text, index) => documentText(text, index, source, clusterNames)).join("---\n") +
    "{{- end }}\n",
  ].join("\n");
}

/** `ServiceAccount pingress-proxy-server`: kind and name. */
function identityOf(document: string): readonly [kind: string, name: string] {
  const kind = /^kind: (\w+)$/m.exec(document)?.[1];
  const name = /^metadata:\n {2}name: (\S+)$/m.exec(document)?.[1];
  if (kind === undefined || name === undefined) throw new Error(`no kind or name: ${document}`);
  return [kind, name];
}

function clusterName(document: string): string[] {
  const [kind, name] = identityOf(document);
  return CLUSTER_KINDS.has(kind) ? [name] : [];
}

function documentText(
  document: string,
  index: number,
  { replace = [], annotations = [], kept = [], around }: TemplateSource,
  clusterNames: readonly string[],
): string {
  // What stands above the first object speaks of kubectl.
  let text = index === 0 ? document.replace(/^(?:#.*\n|\n)+/, "") : document;
  if (!text.endsWith("\n")) text += "\n";
  for (const [part, by] of replace) text = text.replaceAll(part, by);
  // An object of the namespace may share a name with one of the cluster: it keeps its own.
  const isOwn = CLUSTER_KINDS.has(identityOf(document)[0]) ? "" : "(?<!^metadata:\\n)";
  for (const name of clusterNames) {
    text = text.replace(
      new RegExp(`${isOwn}(?<!^ *kind: Role\\n)^( *(?:- )?(?:name|policyName): ${name})$`, "gm"),
      '$1{{ include "pingress.suffix" $$ }}',
    );
  }
  const isKept = kept.includes(identityOf(document).join(" "));
  text = withMetadata(text, isKept ? [...annotations, KEPT] : annotations);
  if (around !== undefined && text.includes(`\n  namespace: ${around.namespace}\n`)) {
    text = text.replace(`\n  namespace: ${around.namespace}\n`, "\n  namespace: {{ . | quote }}\n")
      .replaceAll("name: pingress-controller-role", `name: ${SERVED_ROLE}`);
    text = `${around.before}\n---\n${text}${around.after}\n`;
  }
  return text
    .replace(/^( *(?:- )?namespace:) pingress-system$/gm, "$1 {{ $$.Release.Namespace | quote }}")
    .replaceAll(NAMESPACE, "{{ $.Release.Namespace }}");
}

/** With Helm's labels beside those of the manifest, and annotations. */
function withMetadata(text: string, annotations: readonly string[]): string {
  const labels = '    {{- include "pingress.labels" $ | nindent 4 }}\n';
  const head = /^metadata:\n {2}name: .*\n(?: {2}namespace: .*\n)?/m;
  return text.replace(head, (lines) => {
    const further = annotations.length === 0
      ? ""
      : `  annotations:\n${annotations.map((line) => `    ${line}\n`).join("")}`;
    const at = text.indexOf(lines) + lines.length;
    return text.startsWith("  labels:\n", at)
      ? `${lines}${further}`
      : `${lines}${further}  labels:\n${labels}`;
  }).replace(/^ {2}labels:\n(?! {4}\{\{)/m, `  labels:\n${labels}`);
}
