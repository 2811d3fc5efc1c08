/**
 * The proxy whose filters are measured. In: a backend, an authentication server, and a folder. Out: one
 * Pingress with one worker and all routes, which has been seen to respond right on each.
 */
import http from "node:http";
import { join } from "node:path";
import { type Address, formatAddress } from "../../shared/net/address.ts";
import { Child, freePort } from "../child.ts";
import { SOURCES, startProxy } from "../peers/pingress.ts";
import {
  configuration,
  COST_ROUTES,
  type CostRoute,
  type Headers,
  hostOf,
  TOKEN,
} from "./routes.ts";

export interface FilterProxy {
  readonly address: Address;
  /** Of the Gateway's listener. */
  readonly gateway: Address;
  readonly child: Child;
}

/** How long one response may take, in ms. */
const PATIENCE = 10_000;

/** Clients have the addresses that they say. */
export const TRUSTING = ["--trusted-proxies=127.0.0.0/8"];

/** Throws, with nothing left running, where a route does not respond as it must. */
export async function startFilterProxy(
  backend: Address,
  auth: Address,
  folder: string,
  flags: readonly string[],
): Promise<FilterProxy> {
  const file = join(folder, "filters.json");
  const [address, gateway] = [freePort(), freePort()]
    .map((port) => ({ hostname: "127.0.0.1", port }));
  await Deno.writeTextFile(file, await configuration(backend, auth, gateway.port));
  const child = await startProxy(SOURCES, {
    ...{ file, workers: 1, http: formatAddress(address), accessLog: false },
    flags: [`--listen-range=${gateway.port}-${gateway.port}`, ...flags],
  });
  const proxy = { address, gateway, child };
  await child.listening(address);
  await child.listening(gateway);
  try {
    for (const route of COST_ROUTES) await verifyRoute(proxy, route);
    return proxy;
  } catch (error) {
    await child.stop();
    throw error;
  }
}

export async function startAuthServer(): Promise<
  { readonly child: Child; readonly address: Address }
> {
  const address = { hostname: "127.0.0.1", port: freePort() };
  const script = new URL("auth_server.ts", import.meta.url).pathname;
  const child = Child.start([
    ...[Deno.execPath(), "run", `--allow-net=${formatAddress(address)}`, script],
    ...[String(address.port), TOKEN],
  ]);
  await child.listening(address);
  return { child, address };
}

/** Where requests for a route go. */
export function addressOf({ address, gateway }: FilterProxy, { conditions }: CostRoute): Address {
  return conditions === null ? address : gateway;
}

/** Throws where a route is not served, or its filters or conditions do not count. */
export async function verifyRoute(proxy: FilterProxy, route: CostRoute): Promise<void> {
  const { name, path, headers, probe } = route;
  const address = addressOf(proxy, route);
  const served = await request(address, name, path, headers);
  if (served.status !== 200 || served.body !== "hello\n") {
    throw new Error(`${name}: ${path} gets ${served.status} ${JSON.stringify(served.body)}`);
  }
  const probed = await request(address, name, probe.path, probe.headers);
  if (probed.status !== probe.status) {
    throw new Error(`${name}: ${probe.path} gets ${probed.status} instead of ${probe.status}`);
  }
  const [header, value] = probe.header ?? [];
  if (header !== undefined && probed.headers[header] !== value) {
    throw new Error(`${name}: ${header} is ${probed.headers[header]} instead of ${value}`);
  }
}

function request(
  { hostname, port }: Address,
  name: string,
  path: string,
  headers: Headers,
): Promise<{ status: number; body: string; headers: http.IncomingHttpHeaders }> {
  const { promise, resolve, reject } = Promise.withResolvers<
    { status: number; body: string; headers: http.IncomingHttpHeaders }
  >();
  const sent = http.get({
    ...{ hostname, port, path, agent: false, timeout: PATIENCE },
    headers: { ...Object.fromEntries(headers), host: hostOf(name) },
  }, (response) => {
    let body = "";
    response.setEncoding("utf8");
    response.on("data", (text: string) => body += text);
    response.on("end", () => {
      resolve({ status: response.statusCode ?? 0, body, headers: response.headers });
    });
    response.on("error", reject);
  });
  sent.on("timeout", () => sent.destroy(new Error("no response in time")));
  sent.on("error", reject);
  return promise;
}
