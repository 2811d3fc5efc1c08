/**
 * Reading upstreams. In: one element of a snapshot's `upstreams`, not yet trusted. Out: the
 * upstream, with every address known to be one.
 */
import { isIP } from "node:net";
import { type ConfigCheck, describe, isObject } from "./config_check.ts";
import { readPemText } from "./certificate.ts";
import type { Balance, DnsName, Endpoint, EndpointList, Upstream, UpstreamTls } from "./types.ts";

const PROTOCOLS = ["http", "https", "h2c", "h2"] as const;

/** In the order of help and documentation. */
export const BALANCES: readonly Balance[] = ["round-robin", "least-requests"];

/** Names as resolvers take them, which is more than hosts: `_` occurs, and a last dot is a right. */
const RESOLVABLE = /^[A-Za-z0-9_-]{1,63}(?:\.[A-Za-z0-9_-]{1,63})*\.?$/;
const MAX_NAME = 254;

/** Its id joins `ids` even when the rest is refused, so that routes to it are not reported too. */
export function readUpstream(
  value: unknown,
  path: string,
  ids: Set<string>,
  check: ConfigCheck,
): Upstream | null {
  const upstream = check.object(value, path, [
    "id",
    "protocol",
    "addresses",
    "tls",
    "balance",
    "grpcWeb",
  ]);
  if (upstream === null) return null;
  const id = check.id(upstream.id, `${path}.id`, ids);
  const protocol = check.oneOf(upstream.protocol, `${path}.protocol`, PROTOCOLS);
  const addresses = readAddresses(upstream.addresses, `${path}.addresses`, check);
  const tls = upstream.tls === undefined ? undefined : readTls(upstream.tls, `${path}.tls`, check);
  if (id === null || protocol === null || addresses === null || tls === null) return null;
  const balance = readBalance(upstream.balance, `${path}.balance`, check);
  const grpcWeb = readGrpcWeb(upstream.grpcWeb, `${path}.grpcWeb`, check);
  return {
    id,
    protocol,
    addresses,
    ...(tls === undefined ? {} : { tls }),
    ...(balance === undefined ? {} : { balance }),
    ...(grpcWeb === undefined ? {} : { grpcWeb }),
  };
}

/** A way that this reader does not know is no reason to refuse the traffic. */
function readBalance(value: unknown, path: string, check: ConfigCheck): Balance | undefined {
  if (value === undefined) return undefined;
  const found = BALANCES.find((choice) => choice === value);
  if (found === undefined) {
    check.warn(
      path,
      `${describe(value)} is no way of balancing, so the default is used`,
      `write ${BALANCES.map((choice) => JSON.stringify(choice)).join(" or ")}`,
    );
  }
  return found;
}

/** As above. */
function readGrpcWeb(value: unknown, path: string, check: ConfigCheck): boolean | undefined {
  if (value === undefined || typeof value === "boolean") return value;
  check.warn(
    path,
    `${describe(value)} is neither true nor false, so the default is used`,
    "write true or false",
  );
  return undefined;
}

/** Whether the client certificate is there is asked when it is used: one that breaks costs no file. */
function readTls(value: unknown, path: string, check: ConfigCheck): UpstreamTls | null {
  const tls = check.object(value, path, ["serverName", "ca", "clientCertificate", "verify"]);
  if (tls === null) return null;
  const serverName = check.name(tls.serverName, `${path}.serverName`);
  if (serverName === null) return null;
  if (!isResolvableName(serverName)) {
    return check.refuse(
      `${path}.serverName`,
      `${describe(serverName)} is no name that a certificate can be for`,
      "write a DNS name or an IP address",
    );
  }
  const ca = tls.ca === undefined ? undefined : readPemText(tls.ca, `${path}.ca`, check);
  const clientCertificate = tls.clientCertificate === undefined
    ? undefined
    : check.name(tls.clientCertificate, `${path}.clientCertificate`);
  if (tls.verify !== undefined && tls.verify !== false) {
    return check.refuse(
      `${path}.verify`,
      `${describe(tls.verify)} is not false`,
      "remove it: certificates are verified unless it is false",
    );
  }
  if (ca === null || clientCertificate === null) return null;
  return {
    serverName,
    ...(ca === undefined ? {} : { ca }),
    ...(clientCertificate === undefined ? {} : { clientCertificate }),
    ...(tls.verify === false ? { verify: false } : {}),
  };
}

/** Whether a resolver may be asked for the name. Addresses are names of themselves. */
export function isResolvableName(name: string): boolean {
  return (name.length <= MAX_NAME && RESOLVABLE.test(name)) || isIP(name) !== 0;
}

function readAddresses(
  value: unknown,
  path: string,
  check: ConfigCheck,
): EndpointList | DnsName | null {
  const kinds = ["endpoints", "dns"] as const;
  const kind = isObject(value) ? check.oneOf(value.kind, `${path}.kind`, kinds) : "endpoints";
  if (kind === null) return null;
  if (kind === "dns") {
    const dns = check.object(value, path, ["kind", "name", "port"]);
    return dns && readDnsName(dns.name, dns.port, path, check);
  }
  const list = check.object(value, path, ["kind", "endpoints"]);
  if (list === null) return null;
  const seen = new Set<string>();
  const endpoints = check.array(list.endpoints, `${path}.endpoints`, "refused", (value, place) => {
    const endpoint = readEndpoint(value, place, check);
    if (endpoint === null) return null;
    const key = `${endpoint.address} ${endpoint.port}`;
    if (!seen.has(key)) {
      seen.add(key);
      return endpoint;
    }
    check.warn(place, "it repeats another and has no effect", "remove it");
    return null;
  });
  return { kind, endpoints };
}

function readDnsName(
  value: unknown,
  portValue: unknown,
  path: string,
  check: ConfigCheck,
): DnsName | null {
  const name = check.name(value, `${path}.name`);
  const port = check.port(portValue, `${path}.port`);
  if (name === null || port === null) return null;
  if (isResolvableName(name)) return { kind: "dns", name, port };
  return check.refuse(
    `${path}.name`,
    `${describe(name)} is no name that can be resolved`,
    "write a host name without scheme and port",
  );
}

function readEndpoint(value: unknown, path: string, check: ConfigCheck): Endpoint | null {
  const endpoint = check.object(value, path, ["address", "port", "zone", "hints"]);
  if (endpoint === null) return null;
  const address = check.name(endpoint.address, `${path}.address`);
  const port = check.port(endpoint.port, `${path}.port`);
  const zone = endpoint.zone === undefined
    ? undefined
    : check.string(endpoint.zone, `${path}.zone`);
  const hints = endpoint.hints === undefined ? undefined : check.array(
    endpoint.hints,
    `${path}.hints`,
    "refused",
    (value, place) => check.string(value, place),
  );
  if (address === null || port === null || zone === null) return null;
  // isIP takes `fe80::1%eth0`, but an interface's name means nothing on another machine.
  if (isIP(address) === 0 || address.includes("%")) {
    return check.refuse(
      `${path}.address`,
      `${describe(address)} is no IP address`,
      "write an IPv4 or IPv6 address without brackets",
    );
  }
  return {
    address,
    port,
    ...(zone === undefined ? {} : { zone }),
    ...(hints === undefined ? {} : { hints }),
  };
}
