/**
 * A login in a browser on a real cluster: the manifests of `manifests/oauth2-proxy` as they are, and an
 * OpenID Connect provider. In place of the image of oauth2-proxy there is a server with its documented
 * contract (`login/auth_server.ts`).
 */
import { join } from "node:path";
import { CertificateAuthority } from "../../dev/certificate_authority.ts";
import { eventually } from "../cluster/support/condition.ts";
import { canTrust, findBrowser } from "./browser.ts";
import { buildPingress, Pingress } from "./cluster/installation.ts";
import { type NodeCluster, startNodeCluster } from "./cluster/node_cluster.ts";
import { buildServers } from "./login/image.ts";
import { logInAndOut } from "./login/login_flow.ts";
import { ingressOfProvider, PROBE, serverOf, tlsSecret } from "./login/objects.ts";
import { get, type Place } from "./login/outsider.ts";
import { HOST, LOGIN_HOST } from "./login/site.ts";

const EXAMPLE = join(import.meta.dirname!, "..", "..", "manifests", "oauth2-proxy");

/** Until what was applied is served, in ms. */
const PATIENCE = 120_000;

Deno.test("a login by a server with oauth2-proxy's contract protects an application in a cluster", async (t) => {
  const browser = await findBrowser(t.name);
  if (browser === null || !await canTrust(t.name)) return;
  const cluster = await startNodeCluster(t.name);
  if (cluster === null) return;
  await using _ = cluster;
  await cluster.explain(async () => {
    const place = await install(cluster);
    const endAuthServer = async () => {
      await cluster.kubectl(["scale", "deployment/oauth2-proxy", "--replicas=0"]);
      await cluster.waitReady("default", "app=oauth2-proxy", 0);
    };
    await logInAndOut({ browser, place, endAuthServer }, async (name, run) => {
      let problem: unknown;
      await t.step(name, () => run().catch((error) => Promise.reject(problem = error)));
      if (problem !== undefined) throw problem;
    });
  });
});

/** Everything, until the hosts are served. Out: where. */
async function install(cluster: NodeCluster): Promise<Place> {
  const authority = await CertificateAuthority.create("Login");
  await buildPingress(cluster);
  await buildServers(cluster);
  const pingress = new Pingress(cluster, "HostPort");
  await pingress.apply({ args: ["--nginx-class=nginx"] });
  await cluster.kubectl(["apply", "--filename", EXAMPLE]);
  const objects = [
    await tlsSecret(authority),
    ingressOfProvider(),
    ...serverOf("web", "application"),
    ...serverOf("identity", "identity"),
  ];
  await cluster.apply(objects, { namespace: "default" });
  for (const name of ["oauth2-proxy", "web", "identity"]) {
    await cluster.waitForRollout("Deployment", name, "default", PATIENCE);
  }
  await pingress.waitForControllers();
  await pingress.waitForProxies();
  const place = { address: cluster.nodeAddress, port: 443, ca: authority.certificate };
  const ready: readonly (readonly [path: string, status: number, host?: string])[] = [
    ["/ready", 200, LOGIN_HOST],
    [PROBE, 200, LOGIN_HOST],
    ["/oauth2/start", 302],
    ["/", 302],
    ["/live/headers", 401],
  ];
  for (const [path, status, host = HOST] of ready) {
    await eventually(`${status} of ${host}${path}`, async () => {
      const response = await get(place, path, { host }).catch(() => null);
      return response?.status === status;
    }, PATIENCE);
  }
  return place;
}
