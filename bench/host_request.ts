/**
 * One request for a host that its address does not name, which `fetch` cannot make. In: an address,
 * a host and a path, over plain HTTP. Out: status and body.
 */
import http from "node:http";
import { type Address } from "../shared/net/address.ts";

/** How long the answer may take, in ms. */
const PATIENCE = 10_000;

/** Rejects where there is no answer. */
export function askFor(
  { hostname, port }: Address,
  host: string,
  path: string,
): Promise<{ readonly status: number; readonly body: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; body: string }>();
  const options = { hostname, port, path, headers: { host }, agent: false, timeout: PATIENCE };
  const request = http.get(options, (response) => {
    let body = "";
    response.setEncoding("utf8");
    response.on("data", (text: string) => body += text);
    response.on("end", () => resolve({ status: response.statusCode ?? 0, body }));
    response.on("error", reject);
  });
  request.on("timeout", () => request.destroy(new Error("no answer in time")));
  request.on("error", reject);
  return promise;
}
