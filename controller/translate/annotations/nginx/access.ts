/**
 * Access to routes. In: annotations of one Ingress. Out: the filter that admits requests, or rejects
 * them before anything else looks at them, null where all are admitted; and what closes the paths
 * although each value by itself is valid.
 */
import type { FilterSpec } from "../../../../shared/snapshot/types.ts";
import { readExternal } from "./external.ts";
import { credentialsId } from "../../model/credentials_name.ts";
import type { GlobalSettings } from "../../model/global_settings.ts";
import type { Refusal } from "../../model/source.ts";
import type { NginxAnnotations } from "./nginx_annotations.ts";
import { fieldOfAnnotation } from "./refusals.ts";
import { ACCESS, admitAll } from "./rows/access.ts";
import { BASIC_AUTHENTICATION, CLIENT_CERTIFICATES } from "./rows/authentication.ts";
import { isOff } from "./table.ts";

/** @param namespace Of the Ingress. */
export function readAccess(
  annotations: NginxAnnotations,
  namespace: string,
  globals: Pick<GlobalSettings, "externalAuth">,
): FilterSpec | null {
  const deny = annotations.valueOf(ACCESS, "denylist-source-range");
  const admitted = annotations.valueOf(ACCESS, "allowlist-source-range");
  const allow = admitted === null || admitAll(admitted) ? null : admitted;
  const basic = readBasic(annotations, namespace);
  const external = readExternal(annotations, namespace, globals);
  if (deny === null && allow === null && basic === null && external === null) return null;
  return {
    kind: "access",
    ...(deny === null ? {} : { deny: sorted(deny) }),
    ...(allow === null ? {} : { allow: sorted(allow) }),
    ...(basic === null ? {} : { basic }),
    ...(external === null ? {} : { external }),
    ...(annotations.valueOf(ACCESS, "satisfy") === "any" ? { satisfy: "any" } : {}),
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
  const name = "auth-tls-secret";
  const secret = annotations.valueOf(CLIENT_CERTIFICATES, name);
  if (secret === null || (secret.namespace ?? namespace) === namespace) return [];
  const text = annotations.textOf(name);
  if (!annotations.isHarmless(CLIENT_CERTIFICATES[name], text)) return [];
  return [{
    ...refusal(
      name,
      `names a Secret of namespace ${secret.namespace}, and not of the Ingress's own`,
      "Remove the annotation, as auth-tls-verify-client turns it off",
    ),
    isHostWide: true,
  }];
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
