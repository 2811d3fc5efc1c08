/**
 * Annotations of ingress-nginx that must not be ignored. In: the annotations of an Ingress. Out: a
 * refusal for each one that protects its paths, or changes what they mean, and is not supported here.
 * Paths of a refused Ingress answer 503: serving them would be weaker than what the annotation asks for.
 *
 * Each is judged by its value: a list that admits everybody, `false`, `off`, `0` or nothing protects
 * nothing. cert-manager writes `0.0.0.0/0,::/0` on the Ingress of every HTTP-01 solver. A value that is
 * invalid is never harmless.
 *
 * Without the profile nginx, one that protects is refused although it is supported: its author relies on paths
 * that are compared as nginx compares them.
 */
import { closedReason } from "../../model/closed_reason.ts";
import type { ReplyAction } from "../../../../shared/snapshot/types.ts";
import { quote } from "../../../base/json.ts";
import { CUT_FAULT, CUT_REMEDY } from "../../../kube/excess.ts";
import type { Profile } from "../../model/profile.ts";
import type { ProtocolWish, Refusal } from "../../model/source.ts";
import type { NginxAnnotations, WrittenAnnotation } from "./nginx_annotations.ts";
import { BACKENDS } from "./rows/backends.ts";
import { CANARY } from "./rows/canary.ts";
import type { Row } from "./rows/row.ts";
import { correction, invalid } from "./rows/value.ts";
import { BY_NAME, canClose, isHonoured, isOff, needsProfile, NGINX_PREFIX } from "./table.ts";

export const UNSUPPORTED = "is not supported";

/** Why a supported annotation closes paths without the profile. */
export const NEEDS_PROFILE = "protects paths only in the profile nginx";

export const PROFILE_REMEDY = "Turn the profile on: annotate the IngressClass with " +
  "pingress.io/profile: nginx, or name the class by --nginx-class";

const NO_REMEDY = "Remove the annotation if the paths may be served without it";

const PROTOCOL = "backend-protocol";

/** Names of the annotations that close paths, without the prefix. */
export const REFUSABLE: readonly string[] = [...BY_NAME]
  .filter(([, { row }]) => canClose(row))
  .map(([name]) => name)
  .sort();

/** The refusals of one Ingress, in the order of their names; `readProtocolWish` has another one. */
export function readRefusals(
  annotations: NginxAnnotations,
  profile: Profile,
): readonly Refusal[] {
  return annotations.written.flatMap((written) => {
    const { name, row, text, replacedBy } = written;
    if (row === null || replacedBy !== null) return [];
    // An alias counts in its place, and is judged by itself.
    if (annotations.isReplaced(name)) return [];
    const refused = faultOf(row, written, annotations) ??
      (profile === "nginx" ? null : lackOfProfile(name, row, text, annotations));
    return refused === null ? [] : {
      name,
      field: fieldOfAnnotation(name),
      isHostWide: row.protects && row.scope === "host",
      ...refused,
    };
  });
}

/** Why the paths are closed, and what helps; null where they are not. */
function faultOf(
  row: Row,
  { text, isCut }: WrittenAnnotation,
  annotations: NginxAnnotations,
): Pick<Refusal, "fault" | "remedy"> | null {
  if (!isHonoured(row)) {
    return canClose(row) && !annotations.isHarmless(row, text)
      ? { fault: null, remedy: row.closedRemedy ?? NO_REMEDY }
      : null;
  }
  const isValid = text !== null && (isOff(row, text) || annotations.read(row, text) !== null);
  if (isValid || row.invalid === "default") return null;
  return isCut
    ? { fault: CUT_FAULT, remedy: CUT_REMEDY }
    : { fault: invalid(row.value, text), remedy: correction(row.value) };
}

/** What closes paths only for want of the profile. @param text Of a valid value, or of one that has no effect. */
function lackOfProfile(
  name: string,
  row: Row,
  text: string | null,
  annotations: NginxAnnotations,
): Pick<Refusal, "fault" | "remedy" | "needsProfile"> | null {
  // `refuseGlobalAuth` judges it: it must not be accepted.
  if (name === "enable-global-auth" || !needsProfile(row)) return null;
  if (text === null || annotations.read(row, text) === null) return null;
  return annotations.isHarmless(row, text)
    ? null
    : { fault: null, remedy: PROFILE_REMEDY, needsProfile: true };
}

export function fieldOfAnnotation(name: string): string {
  return `metadata.annotations[${JSON.stringify(NGINX_PREFIX + name)}]`;
}

/**
 * Null without the annotation, or with an invalid value, which is refused; an empty value is HTTP. Of what a Service says, only TLS must not be
 * weakened: other protocols are spoken in place of its own (`backend_wish.ts`).
 */
export function readProtocolWish(annotations: NginxAnnotations): ProtocolWish | null {
  const written = annotations.written.find(({ name }) => name === PROTOCOL);
  if (written === undefined) return null;
  if (written.text === "") return WISHES.HTTP;
  const protocol = annotations.valueOf(BACKENDS, PROTOCOL);
  return protocol === null ? null : WISHES[protocol];
}

const PLAIN: ProtocolWish = {
  protocols: ["http", "h2c"],
  remedy: "Remove appProtocol from the Service's port, which says TLS, or remove the annotation",
};
const SECURED: ProtocolWish = { protocols: ["https", "h2"], remedy: "Write HTTPS or GRPCS" };

const WISHES = {
  HTTP: PLAIN,
  GRPC: PLAIN,
  HTTPS: SECURED,
  GRPCS: SECURED,
  // By TLS for clients of HTTPS, and in plain text for others: nobody gets less than TLS here.
  AUTO_HTTP: { protocols: ["https"], remedy: 'Write "HTTPS", or "HTTP" for plain text' },
  FCGI: { protocols: [], remedy: "Put an HTTP server before the FastCGI backend" },
} satisfies Record<string, ProtocolWish>;

/** Whether an Ingress is a canary: another one's alternative, never a route of its own. */
export function isCanary(annotations: NginxAnnotations): boolean {
  const text = annotations.textOf("canary");
  // ingress-nginx reads "tRUE" and "true " as false; such an Ingress would compete with production's.
  return text !== null && (CANARY.canary.value.read(text.trim().toLowerCase()) ?? false);
}

/** The answer of a closed path. The reason is for `explain`; clients see the status alone. */
export function closedAnswer(name: string, fault: string, ingress: string): ReplyAction {
  return {
    kind: "reply",
    status: 503,
    reason: closedReason(`annotation ${quote(NGINX_PREFIX + name)}`, fault, ingress),
    closed: true,
  };
}
