/**
 * Why there is no stream from the controller. In: errors of files, sockets and TLS, and answers that
 * are no stream. Out: one clause for people with what to do about it.
 */
import type { ControllerAddress } from "./controller_address.ts";

export interface LinkFailure {
  /** Equal for failures that are one to people, so that each is said once. */
  readonly key: string;
  /** One clause without a full stop. */
  readonly message: string;
  readonly remedy: string;
  /** Nothing was wrong but that it took too long. */
  readonly isTimeout?: boolean;
}

/** What a connection that could not be had, or has ended, has told. */
export function failureOf(
  error: Error & { readonly code?: string },
  { hostname, port }: ControllerAddress,
): LinkFailure {
  const at = `${hostname}:${port}`;
  switch (error.code) {
    case "ENOTFOUND":
    case "EAI_AGAIN":
    case "EAI_FAIL":
    case "ENODATA":
      return {
        key: "name",
        message: `the name ${hostname} cannot be resolved`,
        remedy: "check that the Service exists and that DNS resolves it, or correct --controller",
      };
    case "ECONNREFUSED":
      return {
        key: "refused",
        message: `nothing accepts connections at ${at}`,
        remedy: "check that the controller runs, and that --stream is that port",
      };
    case "EHOSTUNREACH":
    case "ENETUNREACH":
    case "ETIMEDOUT":
      return {
        key: "unreachable",
        message: `${at} cannot be reached (${error.code})`,
        remedy: "check that network policies let the proxy reach the controller",
      };
    case "ECONNRESET":
    case "EPIPE":
      return {
        key: "cut",
        message: `the connection to ${at} was cut`,
        remedy: "check that the controller runs, and read its log",
      };
    case "EPERM":
    case "EACCES":
      return {
        key: "permission",
        message: `dialling ${at} is not permitted`,
        remedy: `start Deno with --allow-net=${at}, or with the permissions of deno.json`,
      };
    // Deno has one reason for every chain that it does not accept.
    case "UNABLE_TO_VERIFY_LEAF_SIGNATURE":
    case "SELF_SIGNED_CERT_IN_CHAIN":
    case "DEPTH_ZERO_SELF_SIGNED_CERT":
    case "UNABLE_TO_GET_ISSUER_CERT_LOCALLY":
    case "CERT_HAS_EXPIRED":
    case "CERT_NOT_YET_VALID":
      return {
        key: "certificate",
        message: "its certificate is not valid now, or of no CA in --controller-ca",
        remedy:
          "check that --controller-ca is the controller's current bundle, and that this clock " +
          "is right",
      };
    case "ERR_TLS_CERT_ALTNAME_INVALID":
      return {
        key: "name of the certificate",
        message: `its certificate is not for ${hostname}`,
        remedy: "use a name of its certificate in --controller, or give the controller " +
          `--stream-name=${hostname}`,
      };
  }
  if (error.name === "NotCapable") return failureOf(coded("EPERM"), { hostname, port });
  const message = error.message.replace(/\s+/g, " ").slice(0, 200);
  return {
    key: error.code ?? message,
    message: `the connection to ${at} failed: ${message}`,
    remedy: "check that the controller runs, and read its log",
  };
}

function coded(code: string): Error & { readonly code: string } {
  return Object.assign(new Error(code), { code });
}

/** @param waited for what, as a clause's end: `the handshake`. */
export function timeoutFailure(waited: string, ms: number): LinkFailure {
  return {
    key: `timeout of ${waited}`,
    message: `${waited} took longer than ${ms / 1000} s`,
    remedy:
      "check that the controller runs and has CPU, and that no network policy is between them",
    isTimeout: true,
  };
}

/** @param text the answer's body, from its beginning. */
export function refusalFailure(status: number, text: string): LinkFailure {
  const said = text.replace(/[\s\p{Cc}]+/gu, " ").trim().slice(0, 200);
  const message = `it responded with ${status}${said === "" ? "" : `: ${said}`}`;
  return { key: `status ${status}`, message, remedy: REMEDIES[status] ?? REMEDY };
}

const REMEDY = "check that --controller names the controller's --stream port";

const REMEDIES: Readonly<Record<number, string>> = {
  400: "run proxy and controller of versions that understand each other",
  401: "check that --controller-token is a mounted token for the audience pingress-stream; " +
    "it is read for each attempt",
  403: "run the proxy with the service account pingress-proxy-server of the controller's namespace",
  426: "run proxy and controller of versions that understand each other",
  503: "wait: it stops, or serves the maximum number of proxies; another replica may accept",
};
