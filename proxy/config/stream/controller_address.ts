/**
 * Where the controller's stream is. In: the value of `--controller`. Out: the name, which its
 * certificate must be for, and the port.
 */
import { isIP } from "node:net";

export interface ControllerAddress {
  /** A DNS name or an IP address, without brackets. */
  readonly hostname: string;
  readonly port: number;
}

export interface CredentialFiles {
  /** PEM, all authorities that the controller's certificate may be of. */
  readonly ca: string;
  readonly token: string;
}

/** How to find the controller, and be known by it. */
export interface ControllerOptions extends CredentialFiles {
  readonly address: ControllerAddress;
}

/** Null where it is not an `https` URL of a host alone. */
export function parseControllerUrl(text: string): ControllerAddress | null {
  const url = URL.parse(text);
  if (url === null || url.protocol !== "https:" || url.hostname === "") return null;
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "") {
    return null;
  }
  if (url.pathname !== "/") return null;
  const hostname = url.hostname.replace(/^\[(.*)\]$/, "$1");
  if (isIP(hostname) === 0 && !/^[a-z0-9.-]{1,253}$/.test(hostname)) return null;
  return { hostname, port: url.port === "" ? 443 : Number(url.port) };
}
