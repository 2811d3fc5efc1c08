/** What a user of Node would write himself: its `http` on both sides, `http2` where it is asked for. */
import { formatAddress } from "../../shared/net/address.ts";
import { Child } from "../child.ts";
import { findInstalled } from "../found.ts";
import { isPlain } from "./plain.ts";
import type { Peer, Setup } from "../model.ts";

const PROGRAM = new URL("node_http_proxy.mjs", import.meta.url).pathname;

export const NODE_HTTP: Peer = {
  name: "node-http",
  find: () => findInstalled(["node", "--version"], "node is not installed (remedy: install Node)"),
  /** Its module for HTTP/1.1 knows nothing of the backends of gRPC. */
  can: (what) => isPlain(what) && what.workers === 1 && what.upstream === "http",
  start({ listen, backend, http, tls }: Setup): Promise<Child> {
    return Promise.resolve(Child.start([
      ...["node", PROGRAM, formatAddress(listen), formatAddress(backend), String(http)],
      ...(tls === null ? [] : [tls.chain, tls.key]),
    ]));
  },
};
