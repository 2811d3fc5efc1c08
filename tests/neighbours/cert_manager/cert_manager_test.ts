/**
 * The real cert-manager beside a real controller and proxy: certificates are issued and renewed by
 * HTTP-01 through the proxy. Pebble is the ACME server; no node runs here.
 */
import assert from "node:assert/strict";
import type { KubeObject } from "../../cluster/support/api_client.ts";
import { eventually } from "../../cluster/support/condition.ts";
import { rule } from "../../cluster/support/controller_scene.ts";
import { gatewayClass } from "../../cluster/support/gateway_objects.ts";
import { V1 as GATEWAY_V1 } from "../../cluster/support/gateway_status_scene.ts";
import { AcmeScene, type AcmeSceneOptions, HOST, ISSUER, SECRET } from "./acme_scene.ts";
import { HttpsVisits } from "./https_visits.ts";

/** So much of its 90 days a certificate has left when it is renewed: that is due 10 s after it was issued. */
const RENEW_BEFORE = "2159h59m50s";

/** A scene for one test; where something is missing, the test is skipped. */
function acmeTest(
  name: string,
  options: AcmeSceneOptions,
  run: (scene: AcmeScene) => Promise<void>,
): void {
  Deno.test(name, async () => {
    const scene = await AcmeScene.start(name, options);
    if (scene === null) return;
    await using _ = scene;
    await run(scene);
  });
}

acmeTest(
  "cert-manager gets and renews the certificate of an Ingress, and no request fails meanwhile",
  {},
  async (acme) => {
    await acme.issuer({ ingress: { ingressClassName: "pingress" } });
    await acme.ingress({
      "cert-manager.io/issuer": ISSUER,
      "cert-manager.io/renew-before": RENEW_BEFORE,
    });
    const first = await acme.certificateAfter();
    assert.equal(first.names, HOST);
    // Its host is redirected from now on, so a renewal shows that challenges are not.
    await eventually("redirect", async () => await acme.status() === 308);
    assert.equal(await acme.status("/.well-known/acme-challenge/unknown"), 200);

    await using visits = await HttpsVisits.start(() => acme.connect(), HOST);
    const second = await acme.certificateAfter(first.serial);
    const third = await acme.certificateAfter(first.serial, second.serial);
    await visits.more(10);
    await visits.stop();
    assert.deepEqual(visits.failures, []);
    assert.ok(visits.serials.size >= 2, [...visits.serials].join());
    console.log(
      `3 certificates, ${acme.solvers.seen.length} challenges; ${visits.answered} requests over ` +
        `HTTPS meanwhile, ${visits.failures.length} failed`,
    );
    assert.ok(acme.solvers.seen.length >= 3, acme.solvers.seen.join());
    assert.notEqual(third.serial, first.serial);

    // No more of them.
    await acme.ingress({ "cert-manager.io/issuer": ISSUER });
    await acme.challengesGone();
    await eventually("no problems", async () => (await acme.scene.problems()).length === 0);
  },
);

acmeTest(
  "cert-manager gets the certificate of a Gateway's listener by an HTTPRoute",
  { gateways: true },
  async (acme) => {
    const { cluster, scene: { app: namespace } } = acme;
    const parentRefs = [{ name: "web", namespace, kind: "Gateway" }];
    await acme.issuer({ gatewayHTTPRoute: { parentRefs } });
    await cluster.apply(gatewayClass());
    await cluster.apply([
      {
        apiVersion: GATEWAY_V1,
        kind: "Gateway",
        metadata: { name: "web", annotations: { "cert-manager.io/issuer": ISSUER } },
        spec: {
          gatewayClassName: "pingress",
          listeners: [
            { name: "http", port: 80, protocol: "HTTP" },
            {
              name: "https",
              port: 443,
              protocol: "HTTPS",
              hostname: HOST,
              // The CRDs of Gateway API fill in group and kind; those of the test do not.
              tls: {
                mode: "Terminate",
                certificateRefs: [{ group: "", kind: "Secret", name: SECRET }],
              },
            },
          ],
        },
      },
      {
        apiVersion: GATEWAY_V1,
        kind: "HTTPRoute",
        metadata: { name: "web" },
        spec: {
          parentRefs: [{ name: "web" }],
          hostnames: [HOST],
          rules: [{ backendRefs: [{ name: "web", port: 80 }] }],
        },
      },
    ] as Partial<KubeObject>[], { namespace });
    const { names } = await acme.certificateAfter();
    assert.equal(names, HOST);
    using client = await acme.connect();
    assert.match(await client.ask(`GET / HTTP/1.1\r\nHost: ${HOST}`), /^HTTP\/1\.1 200 /);
    assert.equal(acme.solvers.seen.length, 1);
    await acme.challengesGone();
  },
);

acmeTest(
  "a solver in another namespace than the host's works once the host is shared with it",
  { hasOther: true },
  async (acme) => {
    const { cluster, scene, other } = acme;
    await scene.ingress("app", { rules: [rule(HOST, "/", "web")] });
    await scene.eventuallyRouted(`${HOST} Prefix /`);
    await acme.issuer({ ingress: { ingressClassName: "pingress" } }, other!);
    await cluster.apply({
      apiVersion: "cert-manager.io/v1",
      kind: "Certificate",
      metadata: { name: "app" },
      spec: { secretName: SECRET, dnsNames: [HOST], issuerRef: { name: ISSUER } },
    } as Partial<KubeObject>, { namespace: other! });
    const problem = await acme.explain(() => scene.eventuallyProblem("HostNotOwned"));
    assert.match(problem.object ?? "", new RegExp(`${other}/cm-acme-http-solver-`));
    const secret = () => cluster.get("v1", "Secret", SECRET, other!);
    assert.equal(await secret(), null);

    await scene.ingress("app", { rules: [rule(HOST, "/", "web")] }, {
      annotations: { "pingress.io/share-host-with": other },
    });
    await acme.until("Secret", async () => await secret() !== null);
  },
);
