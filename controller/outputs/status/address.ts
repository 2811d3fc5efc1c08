/**
 * One address in the status of an Ingress. In: text of any origin. Out: an address that the API
 * server takes there, lists of them in one order, and whether two are the same.
 *
 * https://kubernetes.io/docs/reference/kubernetes-api/networking/ingress-v1/#IngressStatus
 */
import { isIP } from "node:net";
import { compareText } from "../../base/text_order.ts";
import { isDnsName } from "../../base/names.ts";

/** Exactly one of the two. */
export type IngressAddress =
  | { readonly ip: string; readonly hostname?: undefined }
  | { readonly hostname: string; readonly ip?: undefined };

/** More would make thousands of Ingresses large, and no DNS answer holds them. */
export const MAX_ADDRESSES = 64;

/** Null for what is neither an IP address nor a host name. */
export function addressOf(text: string): IngressAddress | null {
  if (isIP(text) !== 0 && !text.includes("%")) return { ip: text };
  const hostname = text.toLowerCase().replace(/\.$/, "");
  return isDnsName(hostname) ? { hostname } : null;
}

/** Sorted, each once, at most `MAX_ADDRESSES`. What is no address is left out. */
export function addressList(texts: Iterable<string>): IngressAddress[] {
  const byText = new Map<string, IngressAddress>();
  for (const text of texts) {
    const address = addressOf(text);
    if (address !== null) byText.set(textOf(address), address);
  }
  return [...byText.values()]
    .sort((a, b) => compareText(textOf(a), textOf(b)))
    .slice(0, MAX_ADDRESSES);
}

/** `203.0.113.7` or `lb.example.com`. */
export function textOf(address: IngressAddress): string {
  return address.ip ?? address.hostname;
}
