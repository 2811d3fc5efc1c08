/** ReferenceGrants that are taken away while others write, and what the next publication still serves. */
import assert from "node:assert/strict";
import { chainOf, secretWith, securedIngress } from "../../../tests/support/large_certificates.ts";
import {
  gateway,
  ingress,
  route,
  Scene,
  winner,
} from "../../../tests/support/shared_address_scene.ts";
import { DEFAULT_CLUSTER_BOUNDS, type Translation } from "../translator.ts";

const API = "gateway.networking.k8s.io";

/** Of namespace infra, for one kind of referrer in shop. */
function grant(name: string, kind: "HTTPRoute" | "Gateway", to: "Service" | "Secret") {
  return {
    metadata: { namespace: "infra", name },
    spec: { from: [{ group: API, kind, namespace: "shop" }], to: [{ group: "", kind: to }] },
  };
}

const GRANTS = [grant("backends", "HTTPRoute", "Service"), grant("certs", "Gateway", "Secret")];

function listeners() {
  const made = gateway("shop", "web", 0, "*.shop.test", "*.shop.test");
  const [plain, other] = made.spec.listeners;
  const tls = { certificateRefs: [{ name: "cert", namespace: "infra" }] };
  const secured = { ...other, port: 443, protocol: "HTTPS", tls };
  return { ...made, spec: { ...made.spec, listeners: [plain, secured] } };
}

function routeTo(name: string, ...namespaces: string[]) {
  const made = route("shop", name, 0, [`${name}.shop.test`], ["shop/web"]);
  const rules = made.spec.rules.map((rule) => ({
    ...rule,
    backendRefs: namespaces.map((namespace) => ({ name: "web", port: 80, namespace })),
  }));
  return { ...made, spec: { ...made.spec, rules } };
}

const HTTP_ROUTES = [routeTo("app", "infra"), routeTo("both", "infra", "shop")];

function actionOf({ snapshot }: Translation, host: string) {
  return snapshot.routes.find((each) => each.host === host && each.origin.kind === "HTTPRoute")!
    .action;
}

function hasBackend({ snapshot }: Translation): boolean {
  return snapshot.upstreams.some(({ id }) => id === "infra/web:80");
}

/** With a certificate for its host, and another backend. */
function ownIngress() {
  const made = securedIngress("infra", "cert", 0);
  made.spec.rules[0].http.paths[0].backend.service.name = "other";
  return made;
}

const CERT = chainOf({ wildcard: 1 });
const LARGE = chainOf({ wildcard: 170 });

/** With and without room: what stays as published must not keep what is no longer permitted. */
for (const [cluster, lineBytes] of [["a", 54 * 1024 * 1024], ["a full", 90 * 1024]] as const) {
  Deno.test(`in ${cluster} cluster a revoked ReferenceGrant serves nothing from the next publication on`, () => {
    const scene = new Scene({ clusterBounds: { ...DEFAULT_CLUSTER_BOUNDS, lineBytes } });
    const applied = (referenceGrants: readonly object[], pem: string, change: number) =>
      scene.apply({
        gateways: [listeners()],
        httpRoutes: HTTP_ROUTES,
        // Others write all the time.
        ingresses: [
          ingress("evil", "busy", 0, `v${change}.evil.test`),
          ownIngress(),
        ],
        secrets: [secretWith("infra", "cert", pem)],
        referenceGrants: referenceGrants as never,
      });
    const before = applied(GRANTS, CERT, 0);
    assert.equal(winner(before.snapshot, "app.shop.test"), "HTTPRoute shop/app");
    assert.equal(hasBackend(before), true);
    const shows = ({ snapshot }: Translation) =>
      (snapshot.listeners ?? []).flatMap(({ certificates }) => certificates ?? []).length;
    assert.equal(shows(before), 1);
    for (let change = 1; change < 3; change++) {
      const after = applied([], LARGE, change);
      assert.ok(after.snapshot.routes.some(({ host }) => host === `v${change}.evil.test`));
      const app = actionOf(after, "app.shop.test");
      assert.equal(app.kind === "reply" ? app.status : 0, 500);
      const both = actionOf(after, "both.shop.test");
      const shares = both.kind === "forward" ? both.backends : [];
      assert.deepEqual(shares.map(({ fault }) => fault !== undefined), [true, false]);
      assert.equal(hasBackend(after), false);
      const isFull = after.problems.some(({ reason }) => reason === "ClusterLimitExceeded");
      assert.equal(isFull, cluster === "a full");
      assert.equal(shows(after), 0, "no certificate of the other namespace");
    }
    const again = applied(GRANTS, CERT, 3);
    assert.equal(actionOf(again, "app.shop.test").kind, "forward");
    assert.equal(shows(again), 1);
  });
}
