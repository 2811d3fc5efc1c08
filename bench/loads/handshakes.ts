/** A new connection with TLS for each request, by `handshake_load.ts` in a process of its own. */
import { type HandshakeReport } from "../handshake_load.ts";
import { environmentFor, urlOf } from "../target.ts";
import { resultOf, RUN_BY_DENO, runMetered } from "./metered.ts";
import type { Load } from "../model.ts";

const PROGRAM = new URL("../handshake_load.ts", import.meta.url).pathname;

export const FULL_HANDSHAKES: Load = handshakes("full");

/** Clients offer the ticket of their last connection. */
export const RESUMED_HANDSHAKES: Load = handshakes("resumed");

/** A handshake of the other kind is an error. */
function handshakes(kind: "full" | "resumed"): Load {
  return {
    ...RUN_BY_DENO,
    async run(target, what, seconds, _folder, meter) {
      if (target.tls === null) throw new Error("handshake_load.ts comes with TLS only");
      const report = await runMetered<HandshakeReport>(
        [
          ...[Deno.execPath(), "run", "--quiet", "--allow-ffi", "--allow-read", PROGRAM],
          ...[urlOf(target, what), target.tls.authority],
          ...[String(what.connections), String(seconds), kind],
        ],
        environmentFor(target),
        meter,
      );
      const others = kind === "full" ? report.resumed : report.handshakes - report.resumed;
      return {
        ...resultOf(report, report.handshakes),
        errors: report.errors + others,
        ...(others === 0 ? {} : { note: `${others} handshakes were not ${kind}` }),
      };
    },
  };
}
