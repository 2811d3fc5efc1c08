/** What peers are built or installed to, once. In: the environment. Out: a folder of the user's. */
import { join } from "node:path";

export function cacheFolder(): string {
  const folder = Deno.env.get("XDG_CACHE_HOME") ??
    join(Deno.env.get("HOME") ?? "/var/tmp", ".cache");
  return join(folder, "pingress-bench");
}
