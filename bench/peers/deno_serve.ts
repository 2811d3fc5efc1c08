/** What a user of Deno would write himself: `Deno.serve` in front, `fetch` to the backend. */
import { formatAddress } from "../../shared/net/address.ts";
import { Child } from "../child.ts";
import { findInstalled } from "../found.ts";
import { isPlain } from "./plain.ts";
import type { Peer, Setup } from "../model.ts";

const PROGRAM = new URL("deno_serve_proxy.ts", import.meta.url).pathname;

export const DENO_SERVE: Peer = {
  name: "deno-serve",
  find: () => findInstalled([Deno.execPath(), "--version"], "deno is not where it was"),
  /** `fetch` switches no protocols, and tells neither trailers nor that they are wanted. */
  can: (what) =>
    isPlain(what) && what.workers === 1 && what.path !== "/echo" && what.upstream === "http",
  start({ listen, backend, tls }: Setup): Promise<Child> {
    const files = tls === null ? [] : [tls.chain, tls.key];
    return Promise.resolve(Child.start([
      ...[Deno.execPath(), "run", "--quiet", "--allow-net", "--no-prompt"],
      ...(tls === null ? [] : [`--allow-read=${files.join(",")}`]),
      ...[PROGRAM, formatAddress(listen), formatAddress(backend), ...files],
    ]));
  },
};
