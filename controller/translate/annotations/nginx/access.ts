/**
 * Access to routes. In: annotations of one Ingress. Out: the filter that admits requests, or rejects
 * them before anything else looks at them, null where all are admitted; and what closes the paths
 * although each value by itself is valid.
 */
import type { FilterSpec } from "../../../../shared/snapshot/types.ts";
import { readExternal } from "./external.ts";
import { credentialsId } from "../../model/credentials_name.ts";
import type { GlobalSettings } from "../../model/global_settings.ts";
import type { Refusal, RequiredSecret } from "../../model/source.ts";
import type { NginxAnnotations } from "./nginx_annotations.ts";
import { fieldOfAnnotation } from "./refusals.ts";
import { ACCESS, admitAll } from "./rows/access.ts";
import { BASIC_AUTHENTICATION, CLIENT_CERTIFICATES } from "./rows/authentication.ts";
import type { ObjectName } from "./rows/value.ts";
import { isOff, NGINX_PREFIX } from "./table.ts";

/** @param namespace Of the Ingress. */
export function readAccess(
  annotations: NginxAnnotations,
  namespace: string,
  globals: Pick<GlobalSettings, "externalAuth">,
): FilterSpec | null {
  const deny = annotations.valueOf(ACCESS, "denylist-source-range");
  const admitted = annotations.valueOf(ACCESS, "allowlist-source-range");
  const basic = readBasic(annotations, namespace);
  const external = readExternal(annotations, namespace, globals);
  const isAny = annotations.valueOf(ACCESS, "satisfy") === "any";
  // Beside others of which one is enough, a list of all admits those who fail them, as in nginx.
  const counts = isAny && (basic !== null || external !== null);
  const allow = admitted === null || (admitAll(admitted) && !counts) ? null : admitted;
  if (deny === null && allow === null && basic === null && external === null) return null;
  return {
    kind: "access",
    ...(deny === null ? {} : { deny: sorted(deny) }),
    ...(allow === null ? {} : { allow: sorted(allow) }),
    ...(basic === null ? {} : { basic }),
    ...(external === null ? {} : { external }),
    ...(isAny ? { satisfy: "any" } : {}),
  };
}

function readBasic(annotations: NginxAnnotations, namespace: string) {
  const type = annotations.valueOf(BASIC_AUTHENTICATION, "auth-type");
  const secret = annotations.valueOf(BASIC_AUTHENTICATION, "auth-secret");
  if (type === null || secret === null) return null;
  if ((secret.namespace ?? namespace) !== namespace) return null;
  const kind = annotations.valueOf(BASIC_AUTHENTICATION, "auth-secret-type") ?? "auth-file";
  return {
    credentials: credentialsId({ namespace, name: secret.name, kind }),
    realm: annotations.valueOf(BASIC_AUTHENTICATION, "auth-realm") ?? "",
  };
}

/** @param namespace Of the Ingress. */
export function readAccessRefusals(
  annotations: NginxAnnotations,
  namespace: string,
): readonly Refusal[] {
  const type = annotations.textOf("auth-type") ?? "";
  const isBasic = annotations.valueOf(BASIC_AUTHENTICATION, "auth-type") !== null;
  const secret = annotations.valueOf(BASIC_AUTHENTICATION, "auth-secret");
  const isNamed = (annotations.textOf("auth-secret") ?? "") !== "";
  if (isBasic && !isNamed) {
    return [refusal("auth-type", "is not complete: auth-secret is missing", "Add auth-secret")];
  }
  // What is invalid otherwise closes the paths by itself.
  if (isNamed && isOff(BASIC_AUTHENTICATION["auth-type"], type)) {
    return [
      refusal(
        "auth-secret",
        `is not complete: auth-type is ${type === "" ? "missing" : `"${type}"`}`,
        'Add auth-type: "basic", or remove auth-secret',
      ),
    ];
  }
  if (isBasic && secret !== null && (secret.namespace ?? namespace) !== namespace) {
    return [
      refusal(
        "auth-secret",
        `names a Secret of namespace ${secret.namespace}, and not of the Ingress's own`,
        `Copy the Secret into namespace ${namespace}, and write its name alone`,
      ),
    ];
  }
  return [];
}

/**
 * Of client certificates that are turned off: ingress-nginx refuses a Secret of another namespace first.
 *
 * @param namespace Of the Ingress.
 */
export function readCertificateRefusals(
  annotations: NginxAnnotations,
  namespace: string,
): readonly Refusal[] {
  const secret = unusedSecret(annotations);
  if (secret === null || (secret.namespace ?? namespace) === namespace) return [];
  const fault = `names a Secret of namespace ${secret.namespace}, and not of the Ingress's own`;
  return [{ ...UNUSABLE, fault }];
}

/**
 * The Secret for client certificates that are turned off: without it, ingress-nginx refuses requests; null for
 * none, and for one that is refused already.
 *
 * @param namespace Of the Ingress.
 */
export function readRequiredSecret(
  annotations: NginxAnnotations,
  namespace: string,
): RequiredSecret | null {
  const secret = unusedSecret(annotations);
  return secret === null || (secret.namespace ?? namespace) !== namespace
    ? null
    : { namespace, name: secret.name, refusal: UNUSABLE };
}

const CERTIFICATE_SECRET = "auth-tls-secret";

/** Of such a Secret; why it cannot be used follows. */
const UNUSABLE = {
  name: CERTIFICATE_SECRET,
  field: `metadata.annotations["${NGINX_PREFIX}${CERTIFICATE_SECRET}"]`,
  isHostWide: true,
  fault: "requires its Secret even where it is turned off",
  remedy: "Remove the annotation, as auth-tls-verify-client turns it off",
} as const;

/** Of client certificates that are turned off; null where they are not. */
function unusedSecret(annotations: NginxAnnotations): ObjectName | null {
  const secret = annotations.valueOf(CLIENT_CERTIFICATES, CERTIFICATE_SECRET);
  const row = CLIENT_CERTIFICATES[CERTIFICATE_SECRET];
  const isUnused = secret !== null &&
    annotations.isHarmless(row, annotations.textOf(CERTIFICATE_SECRET));
  return isUnused ? secret : null;
}

function refusal(name: string, fault: string, remedy: string): Refusal {
  return { name, field: fieldOfAnnotation(name), isHostWide: false, fault, remedy };
}

/** Lists that say the same are the same. */
function sorted(networks: readonly string[]): readonly string[] {
  // Most lists have one, or are written in order.
  const isSorted = networks.every((network, i) => i === 0 || networks[i - 1] < network);
  return isSorted ? networks : [...new Set(networks)].sort();
}
