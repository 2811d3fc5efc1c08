/**
 * The image of the servers. In: a cluster. Out: it is on every node, under the name that the example
 * has for oauth2-proxy.
 */
import { join } from "node:path";
import type { NodeCluster } from "../cluster/node_cluster.ts";
import { IMAGE } from "./objects.ts";

const ROOT = join(import.meta.dirname!, "..", "..", "..");
const MAIN = "tests/e2e/login/main.ts";

export async function buildServers(cluster: NodeCluster): Promise<void> {
  const context = await Deno.makeTempDir({ prefix: "pingress-login-" });
  try {
    const options = [
      `--app=${join(context, "app")}`,
      `--cache=${join(context, "deno-dir")}`,
      `--packages=${join(context, "packages")}`,
      // oidc-provider reads the names of its classes.
      "--keep-names",
    ];
    const { success, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "tools/bundle/image.ts", ...options, MAIN],
      cwd: ROOT,
    }).output();
    if (!success) throw new Error(`tools/bundle/image.ts: ${new TextDecoder().decode(stderr)}`);
    const file = join(import.meta.dirname!, "Dockerfile");
    await cluster.buildImage({ context, file, tag: IMAGE });
  } finally {
    await Deno.remove(context, { recursive: true });
  }
}
