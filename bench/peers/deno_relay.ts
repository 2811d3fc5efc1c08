/** The floor of Deno: a bare relay of bytes (`deno_relay_loop.ts`), which knows no HTTP. */
import { Child } from "../child.ts";
import { findInstalled } from "../found.ts";
import { holdsMany } from "./direct.ts";
import type { Peer, Setup } from "../model.ts";

const PROGRAM = new URL("deno_relay_loop.ts", import.meta.url).pathname;

export const DENO_RELAY: Peer = {
  name: "deno-relay",
  find: () => findInstalled([Deno.execPath(), "--version"], "deno is not where it was"),
  can: (what) => holdsMany(what) && what.workers === 1,
  start({ listen, backend }: Setup): Promise<Child> {
    return Promise.resolve(Child.start([
      ...[Deno.execPath(), "run", "--quiet", "--no-check", "-A", "--no-prompt", PROGRAM],
      ...[listen.port, backend.port].map(String),
    ]));
  },
};
