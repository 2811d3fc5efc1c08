/** What could not be read of a cluster. In: a verb, a resource and how the call failed. Out: a sentence and a remedy. */
import type { ApiError, Resource } from "../../controller/kube/types.ts";
import { REFUSED } from "./refused_credentials.ts";

export interface Unread {
  /** `cannot list ingresses.networking.k8s.io: …`, without a full stop. */
  readonly message: string;
  /** One sentence without a full stop. */
  readonly remedy: string;
}

export interface FailedCall {
  readonly verb: string;
  readonly resource: Pick<Resource, "group" | "plural">;
  readonly subresource?: string;
  /** Null for all, and for kinds that have none. */
  readonly namespace: string | null;
  /** Null for all of a kind. */
  readonly name?: string | null;
  readonly error: ApiError;
  /** Milliseconds that the command gives the API server. */
  readonly timeout: number;
}

/** @param role The sentence that says which role has the right: `the ClusterRole pingress-lint of overlays/lint does`. */
export function unreadOf(call: FailedCall, role: string | null = null): Unread {
  const what = resourceName(call);
  const where = call.namespace === null ? "" : ` in namespace ${call.namespace}`;
  const named = call.name == null ? what : `${what} ${call.name}`;
  return {
    message: `cannot ${call.verb} ${named}${where}: ${reasonOf(call)}`,
    remedy: remedyFor(call, `${call.verb} on ${what}${where}`, role),
  };
}

/** `ingresses.networking.k8s.io`, `pods/portforward`. */
export function resourceName(
  { resource: { group, plural }, subresource }: Pick<FailedCall, "resource" | "subresource">,
): string {
  const path = subresource === undefined ? plural : `${plural}/${subresource}`;
  return group === "" ? path : `${path}.${group}`;
}

/** One sentence: what could not be read, and what helps. */
export function unreadSentence({ message, remedy }: Unread): string {
  return `${message}; ${remedy.charAt(0).toLowerCase()}${remedy.slice(1)}`;
}

/** Those that differ by more than by what was read; the first of each says how many more there are. */
export function gathered(unread: readonly Unread[]): readonly Unread[] {
  const alike = Map.groupBy(unread, ({ message, remedy }) => {
    const colon = message.indexOf(": ");
    return JSON.stringify([colon === -1 ? message : message.slice(colon), remedy]);
  });
  return [...alike.values()].map(([first, ...more]) =>
    more.length === 0
      ? first
      : { ...first, message: `${first.message} (and the same ${more.length} more times)` }
  );
}

function reasonOf({ error, timeout }: FailedCall): string {
  return error.reason === "Deadline"
    ? `the API server did not answer within ${timeout / 1000} s`
    : error.code === 401 && !isKnownRefusal(error)
    ? "the API server does not accept the credentials of the kubeconfig"
    : error.message;
}

function isKnownRefusal({ reason }: ApiError): boolean {
  return Object.values<string>(REFUSED).includes(reason);
}

/** What the TLS library says of a server's certificate, and what helps. */
const OF_CERTIFICATES: readonly (readonly [message: RegExp, remedy: string])[] = [
  [
    /altnames|not valid for name|NotValidForName|hostname/i,
    "Write a name that the server's certificate has into server of the kubeconfig's cluster, or into " +
    "its tls-server-name",
  ],
  [
    /certificate (?:has )?expired|CERT_HAS_EXPIRED|not yet valid/i,
    "Renew the certificate of the API server, or set the clock of this machine",
  ],
  [
    /self[- ]signed|UnknownIssuer|unable to (?:verify|get)|issuer certificate|BadSignature/i,
    "Write the CA of this API server into certificate-authority-data of the kubeconfig's cluster " +
    "(insecure-skip-tls-verify: true trusts any server, which is for trying only)",
  ],
];

function remedyFor(
  { error: { code, reason, message } }: FailedCall,
  right: string,
  role: string | null,
): string {
  switch (code) {
    case 401:
      if (reason === REFUSED.certificate) {
        return "Renew the certificate as your cluster does it, such as by kubeadm certs renew, and write " +
          "it to the kubeconfig";
      }
      if (reason === REFUSED.program) {
        return "Log in again with that program, and check whether its account may use this cluster";
      }
      return "Renew the token or certificate of the context's user";
    case 403:
      return `Allow the verb ${right}${role === null ? "" : `; ${role}`}`;
    case 429:
      return "Repeat the command later: the API server limits requests";
    case 0:
      return OF_CERTIFICATES.find(([pattern]) => pattern.test(message))?.[1] ??
        "Check the server of the kubeconfig and the way to it, or give it more time by --timeout";
    default:
      return "Look at the log of the API server";
  }
}
