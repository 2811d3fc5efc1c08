/**
 * Where the proxy listens. In: what its command line names, and whether the system knows IPv6. Out:
 * the same, with all addresses of IPv4 in place of all addresses where it does not: `[::]` is what
 * suits most nodes, and those that were booted with `ipv6.disable=1` have no such thing.
 */
import { type Address, isAny, withoutIpv6 } from "../../shared/net/address.ts";
import { PRIVILEGED_PORTS } from "../../shared/net/proxy_ports.ts";
import type { ProxyOptions } from "./options.ts";

/** Every port that a proxy has. */
type Listeners = Pick<ProxyOptions, "listenHttp" | "listenHttps" | "admin">;

/** Whether `[::]` is asked for where sockets of IPv6 cannot be had at all. */
export function lacksIpv6(
  { listenHttp, listenHttps, admin }: Listeners,
  listen: (address: Address) => { close(): void } = Deno.listen,
): boolean {
  if (![...listenHttp, ...listenHttps, admin].some(isAny)) return false;
  try {
    listen({ hostname: "::", port: 0 }).close();
    return false;
  } catch (error) {
    // Whatever else is wrong will be said of the port that is meant.
    return (error as { readonly code?: string }).code === "EAFNOSUPPORT";
  }
}

/**
 * The same options with the ports of HTTP and HTTPS, where no listener is named and this process may
 * listen on both. One that another program has counts as allowed: it is an error once it is listened
 * on, since a proxy on ports where nobody looks for it would hide that.
 */
export function onPrivilegedPorts<O extends Listeners & { readonly listensByDefault: boolean }>(
  options: O,
  listen: (address: Address) => { close(): void } = Deno.listen,
): O {
  if (!options.listensByDefault) return options;
  const withPort = (port: number) => (address: Address) => ({ ...address, port });
  const listenHttp = options.listenHttp.map(withPort(PRIVILEGED_PORTS.http));
  const listenHttps = options.listenHttps.map(withPort(PRIVILEGED_PORTS.https));
  const isAllowed = [...listenHttp, ...listenHttps].every((address) => {
    try {
      listen(address).close();
      return true;
    } catch (error) {
      return !(error instanceof Deno.errors.PermissionDenied ||
        error instanceof Deno.errors.NotCapable ||
        (error as { readonly code?: string }).code === "EACCES");
    }
  });
  return isAllowed ? { ...options, listenHttp, listenHttps } : options;
}

/** The same options on IPv4 alone. */
export function onIpv4<O extends Listeners>(options: O): O {
  const { listenHttp, listenHttps, admin } = options;
  return {
    ...options,
    listenHttp: listenHttp.map(withoutIpv6),
    listenHttps: listenHttps.map(withoutIpv6),
    admin: withoutIpv6(admin),
  };
}
