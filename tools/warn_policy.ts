/**
 * The policy that makes the API server warn of annotations of ingress-nginx without an effect. In: the
 * table of annotations. Out: the text of `overlays/warn/nginx-annotations.yaml`.
 *
 * It takes the place of ingress-nginx's webhook: who applies an Ingress reads what becomes of it, and
 * nothing is ever rejected. The expressions see one Ingress and its class, but no Service and no Secret; they
 * judge values as the controller does, but for what `HARMLESS` says.
 *
 * The parameters of the policy are the IngressClasses, so that it holds for the classes that are served, as far as
 * the API server has word of that: the flags of the controller are not known to it.
 */
import { stringify } from "yaml";
import { WATCH_OPTIONS } from "../controller/cli/option_specs.ts";
import type { Row } from "../controller/translate/annotations/nginx/rows/row.ts";
import { NEEDS_PROFILE } from "../controller/translate/annotations/nginx/refusals.ts";
import { PROFILE_ANNOTATION } from "../controller/translate/annotations/own_annotation_names.ts";
import { NGINX_CONTROLLER } from "../controller/translate/ingress/class.ts";
import { trimmed } from "../controller/translate/annotations/nginx/rows/value.ts";
import {
  BY_NAME,
  canClose,
  closesWithoutProfile,
  isHonoured,
  NGINX_PREFIX,
} from "../controller/translate/annotations/nginx/table.ts";

/** Where the policy stands, relative to the repository. */
export const WARN_POLICY = "overlays/warn/nginx-annotations.yaml";

const NAME = "pingress-nginx-annotations";
const LABELS = { "app.kubernetes.io/part-of": "pingress" };

/** The class of an Ingress; nothing where it names none. */
const CLASS = "(has(object.spec.ingressClassName) ? object.spec.ingressClassName : " +
  "'kubernetes.io/ingress.class' in object.metadata.annotations ? " +
  "object.metadata.annotations['kubernetes.io/ingress.class'] : '')";

/** Whose controller is ours, or which has a setting of ours, as one that the controller serves by a flag. */
const IS_SERVED =
  `(has(params.spec) && has(params.spec.controller) && params.spec.controller in [${
    WATCH_OPTIONS.controllerName.default.map((name) => `'${name}'`).join(", ")
  }] || has(params.metadata.annotations) && ` +
  "params.metadata.annotations.exists(name, name.startsWith('pingress.io/')))";

/**
 * Whether the class has the profile nginx, as far as its object says. One whose controller is ingress-nginx has it
 * where --controller-name takes it over, as the migration does.
 */
const HAS_PROFILE = "has(params.metadata.annotations) && " +
  `'${PROFILE_ANNOTATION}' in params.metadata.annotations && ` +
  `params.metadata.annotations['${PROFILE_ANNOTATION}'] == 'nginx' || ` +
  `has(params.spec) && has(params.spec.controller) && params.spec.controller == '${NGINX_CONTROLLER}'`;

/**
 * Values that close nothing, by annotation. `text` stands for the value, without the blanks that are dropped.
 * Of what needs the profile alone, values that are not valid are not told apart: they close paths, too.
 */
export const HARMLESS: Readonly<Record<string, string>> = {
  "allowlist-source-range": "text.split(',').exists(part, part.trim().matches('^[0-9.]+/0$')) && " +
    "text.split(',').exists(part, part.trim().matches('^[0-9a-fA-F:]+/0$'))",
  "proxy-body-size": "text.matches('^[0-9]{1,12}[mMgG]$') || text.matches('^0+[kK]?$') || " +
    "text.matches('^[0-9]{1,12}[kK]$') && int(text.substring(0, text.size() - 1)) >= 1024 || " +
    "text.matches('^[0-9]{1,12}$') && int(text) >= 1048576",
  // The last two close paths in the profile, too, and the controller says why.
  "backend-protocol": "text.upperAscii() in ['HTTP', 'AUTO_HTTP', 'FCGI']",
  // A login of its own is the one that counts.
  "enable-global-auth": `!${lacks("auth-url")}`,
  // A Secret that is missing closes them all the same.
  "auth-tls-secret": `${key("auth-tls-verify-client")} in variables.nginx && ` +
    `${textOf("auth-tls-verify-client")} == 'off' && ` +
    "text.startsWith(object.metadata.namespace + '/')",
  "proxy-ssl-ciphers": "text.matches('^(DEFAULT|HIGH|ALL|ECDHE|EECDH)" +
    "([:, ]!(aNULL|eNULL|NULL|ADH|EXPORT|EXP|LOW|MEDIUM|MD5|SHA1|RC4|DES|3DES|PSK|SRP|DSS|kRSA))*$')",
};

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
      paramKind: { apiVersion: "networking.k8s.io/v1", kind: "IngressClass" },
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
          expression: `params.metadata.name == ${CLASS} && ${IS_SERVED}`,
        },
      ],
      variables: [
        { name: "nginx", expression: "object.metadata.annotations" },
        { name: "hasProfile", expression: HAS_PROFILE },
      ],
      validations: [
        ...[...BY_NAME].filter(([, { row }]) => hasWarning(row)).map(([name, { row }]) =>
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
    spec: {
      policyName: NAME,
      // All classes: the policy is evaluated with each, and holds with that of the Ingress alone.
      paramRef: { selector: {}, parameterNotFoundAction: "Allow" },
      validationActions: ["Warn"],
    },
  };
  // The API server shows the message of each validation that is false as a warning of its own.
  return [
    "# Made from the table of annotations by deno task docs:update; do not edit. Holds for IngressClasses whose",
    "# controller is Pingress, and for those with an annotation pingress.io/….",
    [policy, binding].map((object) => stringify(object, { lineWidth: 100 })).join("---\n"),
  ].join("\n");
}

/** What has no effect here, and what closes paths by itself without the profile. */
export function hasWarning(row: Row): boolean {
  return !isHonoured(row) || closesWithoutProfile(row);
}

function validation(name: string, row: Row) {
  const annotation = key(name);
  return {
    expression: [
      ...isHonoured(row) ? ["variables.hasProfile"] : [],
      `!(${annotation} in variables.nginx)`,
      quietWhere(name, row),
    ].join(" || "),
    message: messageFor(name, row),
  };
}

/** The value of an annotation as the controller trims it. */
function textOf(name: string): string {
  const value = `variables.nginx[${key(name)}]`;
  switch (BY_NAME.get(name)!.row.value.trims) {
    case "none":
      return value;
    case "lines":
      return `${value}.split('\\n').map(line, line.trim()).join('\\n')`;
    default:
      return `${value}.trim()`;
  }
}

/** Where nothing needs to be said. */
function quietWhere(name: string, row: Row): string {
  // Of an alias, the one of its row.
  const known = BY_NAME.get(name)!.name;
  const harmless = HARMLESS[known]?.replaceAll(/\btext\b/g, textOf(name));
  return [
    blankWhere(name, row),
    ...hasOff(row) ? [`${textOf(name)}.lowerAscii() in ['false', 'f', 'off', '0']`] : [],
    ...harmless === undefined ? [] : [harmless],
    // It counts in place of its alias, and is judged by itself.
    ...known === name || !isHonoured(row) ? [] : [`!${lacks(known)}`],
    ...row.protectsBeside === undefined ? [] : [row.protectsBeside.map(lacks).join(" && ")],
  ].join(" || ");
}

/** Whether an annotation is missing, or asks for nothing. */
function lacks(name: string): string {
  return `(!(${key(name)} in variables.nginx) || variables.nginx[${key(name)}].trim() == '')`;
}

/** Nothing but blanks, unless a line end is a value. */
function blankWhere(name: string, { value }: Row): string {
  const text = `variables.nginx[${key(name)}]`;
  const isBlank = `${text}.trim() == ''`;
  return trimmed("\n", value) === "" ? isBlank : `${isBlank} && !${text}.contains('\\n')`;
}

/** What closes no path warns of every value: "off" has an effect in ingress-nginx, too. */
function hasOff(row: Row): boolean {
  return canClose(row) && (row.value.hasOff || !row.protects);
}

/** The API server shows it behind its own 150 characters. */
function messageFor(name: string, row: Row): string {
  const { verdict, beside } = row;
  if (isHonoured(row)) {
    return `${name} ${NEEDS_PROFILE}, so its paths answer 503 unless --nginx-class names the class: ` +
      `annotate the IngressClass with ${PROFILE_ANNOTATION}: nginx`;
  }
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
