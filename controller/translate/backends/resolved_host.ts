/**
 * Hosts of URLs that proxies ask by DNS. In: the host and port, what is allowed, and which Services there are.
 * Out: an upstream of the name; or one without endpoints, with what is to be said of it.
 */
import { isIP } from "node:net";
import { parsedAddress } from "../../../shared/net/parsed_address.ts";
import { reservedAddress } from "../../../shared/net/reserved_address.ts";
import { keyOf } from "../../base/identity.ts";
import type { ServiceBackend } from "../model/backend_ref.ts";
import { type BackendOptions, type Reached, reached } from "./backend_plan.ts";
import { isLocalName, looksLikeAddress } from "../model/external_name.ts";
import type { Note } from "./fault.ts";

/**
 * A name that proxies resolve, if that is allowed, or the operator names it.
 *
 * @param isService Whether there is the Service `namespace/name`.
 */
export function planHost(
  { name, port, id, wish, isTrusted, nameField }: ServiceBackend,
  options: BackendOptions,
  isService: (key: string) => boolean,
): Reached {
  const isAllowed = isTrusted === true || options.allowExternalName;
  const why = isAllowed && isTrusted !== true
    ? refusalOfName(name, Number(port), options, isService)
    : null;
  const addresses = isAllowed && why === null && typeof port === "number"
    ? { kind: "dns" as const, name, port }
    : { kind: "endpoints" as const, endpoints: [] };
  const note = why === null ? null : unresolved(name, why, nameField);
  return reached({ id, protocol: wish?.protocol ?? "http", addresses }, null, note);
}

/**
 * Why proxies do not resolve the host of a URL, as a clause; null where they do. As of the name of a Service
 * of type ExternalName; but an address may be one, and no name may be a Service by the search domains that
 * cluster DNS gives to proxies: their own namespace's, and that of all Services.
 *
 * @param isService Whether there is the Service `namespace/name`.
 */
function refusalOfName(
  name: string,
  port: number,
  { allowLocalEndpoints, denied }: BackendOptions,
  isService: (key: string) => boolean,
): string | null {
  if (isIP(name) !== 0) {
    if (denied.refusal(parsedAddress(name).toString(), port, false) !== null) {
      return "is an address of the cluster itself";
    }
    const reserved = allowLocalEndpoints ? null : reservedAddress(name);
    return reserved === null ? null : `is ${reserved.what}`;
  }
  if (looksLikeAddress(name)) return "is an address in another notation";
  if (!allowLocalEndpoints) {
    if (isLocalName(name)) return "is the proxy itself";
    if (!name.includes(".")) return "may be a Service of their own namespace";
  }
  const [service, namespace] = name.split(".").slice(-2);
  return isService(keyOf({ namespace, name: service }))
    ? `may be Service ${service} of namespace ${namespace}`
    : null;
}

/** What is said of such a name. @param why A clause. */
function unresolved(name: string, why: string, field: string): Note {
  return {
    field,
    reason: "ExternalNameNotAllowed",
    message:
      `proxies do not resolve ${name}, which ${why}, so requests get 500 unless an Ingress ` +
      "has the host",
    remedy:
      "Use a host of an Ingress, a Service of the namespace as NAME.NAMESPACE.svc, or a name " +
      "outside of the cluster",
  };
}
