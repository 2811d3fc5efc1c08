/**
 * How backends are spoken to. In: annotations of one Ingress. Out: the protocol and the settings of TLS
 * that it wants in place of those of its Services; null where it says nothing.
 */
import { FIRST_PORT, type ServiceBackend, upstreamId } from "../../model/backend_ref.ts";
import type { BackendWish, TlsWish } from "../../model/backend_wish.ts";
import type { NginxAnnotations } from "./nginx_annotations.ts";
import { fieldOfAnnotation } from "./refusals.ts";
import { BACKEND_TLS, BACKENDS } from "./rows/backends.ts";
import { RESPONSES } from "./rows/responses.ts";

const PROTOCOLS = { HTTP: "http", HTTPS: "https", GRPC: "h2c", GRPCS: "h2" } as const;

/** As in ingress-nginx. */
const DEFAULT_VERIFY_DEPTH = 1;

/** @param namespace Of the Ingress. */
export function readBackendWish(
  annotations: NginxAnnotations,
  namespace: string,
): BackendWish | null {
  const written = annotations.valueOf(BACKENDS, "backend-protocol");
  const protocol = written === null || written === "AUTO_HTTP" || written === "FCGI"
    ? null
    : PROTOCOLS[written];
  const tls = readTls(annotations, namespace);
  if (protocol === null && tls === null) return null;
  return { protocol, protocolField: fieldOfAnnotation("backend-protocol"), tls };
}

/**
 * The Service that gets requests for backends without endpoints; null for none.
 *
 * @param namespace Of the Ingress.
 * @param wish How all of its backends are spoken to.
 */
export function readFallback(
  annotations: NginxAnnotations,
  namespace: string,
  wish: BackendWish | null,
): ServiceBackend | null {
  const service = annotations.valueOf(RESPONSES, "default-backend");
  if (service === null) return null;
  const { name } = service;
  const field = fieldOfAnnotation("default-backend");
  return {
    kind: "service",
    ...{ namespace, name, wish },
    port: FIRST_PORT,
    id: upstreamId(namespace, name, FIRST_PORT, wish),
    nameField: field,
    portField: field,
  };
}

/** Null where no annotation says anything. */
function readTls(annotations: NginxAnnotations, namespace: string): TlsWish | null {
  const secret = annotations.valueOf(BACKEND_TLS, "proxy-ssl-secret");
  const serverName = annotations.valueOf(BACKEND_TLS, "proxy-ssl-name");
  const sni = annotations.valueOf(BACKEND_TLS, "proxy-ssl-server-name");
  const verify = annotations.valueOf(BACKEND_TLS, "proxy-ssl-verify");
  const verifyDepth = annotations.valueOf(BACKEND_TLS, "proxy-ssl-verify-depth");
  const versions = annotations.valueOf(BACKEND_TLS, "proxy-ssl-protocols");
  const first = [
    ["proxy-ssl-secret", secret],
    ["proxy-ssl-verify", verify],
    ["proxy-ssl-verify-depth", verifyDepth],
    ["proxy-ssl-name", serverName],
    ["proxy-ssl-server-name", sni],
    ["proxy-ssl-protocols", versions],
  ].find(([, value]) => value !== null);
  if (first === undefined) return null;
  return {
    secret: secret && { namespace: secret.namespace ?? namespace, name: secret.name },
    serverName: serverName?.toLowerCase() ?? null,
    sni: sni ?? false,
    verify: verify ?? false,
    // 0 is the default, as there.
    verifyDepth: verifyDepth || (verify === true ? DEFAULT_VERIFY_DEPTH : null),
    version: versions === null ? null : onlyVersion(versions),
    verifyField: fieldOfAnnotation(verify !== null ? "proxy-ssl-verify" : "backend-protocol"),
    field: fieldOfAnnotation(String(first[0])),
  };
}

/** Null for both. */
function onlyVersion(versions: readonly string[]): TlsWish["version"] {
  if (!versions.includes("TLSv1.3")) return "TLSv1.2";
  return versions.includes("TLSv1.2") ? null : "TLSv1.3";
}
