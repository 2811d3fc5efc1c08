/**
 * The policy that makes the API server warn of annotations of ingress-nginx without an effect. In: the
 * table of annotations. Out: the text of `overlays/warn/nginx-annotations.yaml`.
 *
 * It takes the place of ingress-nginx's webhook: who applies an Ingress reads what becomes of it, and
 * nothing is ever rejected. The expressions see one Ingress and no Service, so they judge values as the
 * controller does, but for what `HARMLESS` says.
 */
import { stringify } from "yaml";
import type { Row } from "../controller/translate/annotations/nginx/rows/row.ts";
import {
  BY_NAME,
  canClose,
  isHonoured,
  NGINX_PREFIX,
} from "../controller/translate/annotations/nginx/table.ts";

/** Where the policy stands, relative to the repository. */
export const WARN_POLICY = "overlays/warn/nginx-annotations.yaml";

const NAME = "pingress-nginx-annotations";
const LABELS = { "app.kubernetes.io/part-of": "pingress" };

/** Of the class that manifests of Pingress create. */
const CLASSES = ["pingress"];

/** `text` stands for the value of the annotation, without blanks at its ends. */
export const HARMLESS: Readonly<Record<string, string>> = {
  "allowlist-source-range": everybody("text"),
  "auth-proxy-set-headers": `!(${key("auth-url")} in variables.nginx) || ` +
    `variables.nginx[${key("auth-url")}].trim() == ''`,
  "auth-tls-secret": `${key("auth-tls-verify-client")} in variables.nginx && ` +
    `variables.nginx[${key("auth-tls-verify-client")}].trim().lowerAscii() == 'off'`,
  "proxy-ssl-ciphers": "text.matches('^(DEFAULT|HIGH|ALL|ECDHE|EECDH)" +
    "([:, ]!(aNULL|eNULL|NULL|ADH|EXPORT|EXP|LOW|MEDIUM|MD5|SHA1|RC4|DES|3DES|PSK|SRP|DSS|kRSA))*$')",
};

function everybody(text: string): string {
  const parts = `${text}.split(',')`;
  return `${parts}.all(part, part.trim().matches('^[0-9.]+(/[0-9]+)?$|^[0-9a-fA-F:.]*:[0-9a-fA-F:.]*(/[0-9]+)?$')) && ` +
    `${parts}.exists(part, part.trim().matches('^[0-9.]+/0$')) && ` +
    `${parts}.exists(part, part.trim().matches('^[0-9a-fA-F:]+/0$'))`;
}

function key(name: string): string {
  return `'${NGINX_PREFIX}${name}'`;
}

export function warnPolicy(): string {
  const policy = {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingAdmissionPolicy",
    metadata: { name: NAME, labels: LABELS },
    spec: {
      failurePolicy: "Ignore",
      matchConstraints: {
        resourceRules: [{
          apiGroups: ["networking.k8s.io"],
          apiVersions: ["*"],
          operations: ["CREATE", "UPDATE"],
          resources: ["ingresses"],
        }],
      },
      matchConditions: [
        {
          name: "has-nginx-annotations",
          expression: "has(object.metadata.annotations) && object.metadata.annotations" +
            `.exists(name, name.startsWith('${NGINX_PREFIX}'))`,
        },
        {
          name: "is-of-our-class",
          expression: "(has(object.spec.ingressClassName) ? object.spec.ingressClassName : " +
            "'kubernetes.io/ingress.class' in object.metadata.annotations ? " +
            "object.metadata.annotations['kubernetes.io/ingress.class'] : '') in " +
            `[${CLASSES.map((name) => `'${name}'`).join(", ")}]`,
        },
      ],
      variables: [{ name: "nginx", expression: "object.metadata.annotations" }],
      validations: [
        ...[...BY_NAME].filter(([, { row }]) => !isHonoured(row)).map(([name, { row }]) =>
          validation(name, row)
        ),
        unknownNames(),
      ],
    },
  };
  const binding = {
    apiVersion: policy.apiVersion,
    kind: "ValidatingAdmissionPolicyBinding",
    metadata: { name: NAME, labels: LABELS },
    spec: { policyName: NAME, validationActions: ["Warn"] },
  };
  // The API server shows the message of each validation that is false as a warning of its own.
  return [
    "# Made from the table of annotations by deno task docs:update; do not edit. If --ingress-class names",
    "# another class, patch the condition is-of-our-class.",
    [policy, binding].map((object) => stringify(object, { lineWidth: 100 })).join("---\n"),
  ].join("\n");
}

function validation(name: string, row: Row) {
  const annotation = key(name);
  const text = `variables.nginx[${annotation}].trim()`;
  return {
    expression: `!(${annotation} in variables.nginx) || ${quietWhere(row, text)}`,
    message: messageFor(name, row),
  };
}

/** Where nothing needs to be said. */
function quietWhere(row: Row, text: string): string {
  const name = [...BY_NAME].find(([, known]) => known.row === row)![0];
  const harmless = HARMLESS[name]?.replaceAll(/\btext\b/g, text);
  return [offExpression(row, text), ...harmless === undefined ? [] : [harmless]].join(" || ");
}

/** What closes no path warns of every value: "off" has an effect in ingress-nginx, too. */
function offExpression(row: Row, text: string): string {
  return canClose(row) && (row.value.hasOff || !row.protects)
    ? `${text}.lowerAscii() in ['', 'false', 'f', 'off', '0']`
    : `${text} == ''`;
}

/** The API server shows it behind its own 150 characters. */
function messageFor(name: string, row: Row): string {
  const { verdict, beside } = row;
  if (name === "canary") return "canary is not supported by Pingress: the Ingress gets no routes";
  if (canClose(row)) {
    const paths = row.protects && row.scope === "host" ? "all paths of its hosts" : "its paths";
    const remedy = row.closedRemedy ?? "remove the annotation, or have it accepted";
    return `${name} is not supported by Pingress, so ${paths} answer 503: ${lower(remedy)}`;
  }
  const none = `${name} has no effect in Pingress`;
  switch (verdict.kind) {
    case "honoured":
    case "differs":
      return none;
    case "always":
    case "refused":
      return `${none}: ${verdict.because}`;
    case "not-yet":
      if (verdict.remedy !== null) return `${none}: ${lower(verdict.remedy)}`;
      return beside === undefined ? none : `${none}: ${beside.join(", ")} is not supported`;
  }
}

function unknownNames() {
  const names = [...BY_NAME.keys()].map(key).join(", ");
  const unknown = `variables.nginx.filter(name, name.startsWith('${NGINX_PREFIX}') && ` +
    `!(name in [${names}]))`;
  return {
    expression: `${unknown}.size() == 0`,
    message: "there are annotations that ingress-nginx does not have",
    messageExpression: `"ingress-nginx has no annotation " + ${unknown}.join(", ")`,
  };
}

function lower(sentence: string): string {
  return `${sentence[0].toLowerCase()}${sentence.slice(1)}`;
}
