/**
 * No proxy: the load speaks to a backend of its own. Its latencies are those that load and backend
 * have by themselves, and its CPU is the backend's.
 */
import { Child } from "../child.ts";
import { findGoPrograms, goProgram } from "../go_programs.ts";
import type { Case, Peer, Setup } from "../model.ts";

export const DIRECT: Peer = {
  name: "direct",
  find: () => findGoPrograms("backend"),
  can: holdsMany,
  async start({ listen }: Setup): Promise<Child> {
    return Child.start([await goProgram("backend"), String(listen.port)]);
  },
};

/** Whether it is a case of many plain connections of HTTP/1.1, with a backend in Go. */
export function holdsMany({ path, http, tls }: Case): boolean {
  return http === 1 && !tls && (path === "/echo" || path === "/events" || path === "/burst");
}
