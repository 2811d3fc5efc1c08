/** Gateways on the ports of Ingresses, with workers that serve both. */
import assert from "node:assert/strict";
import { Backend, Peer, reply, statusOf } from "../support/backend.ts";
import { RequestLoad, statusAt } from "../support/request_load.ts";
import { authority, handshakeError, TlsClient } from "../support/tls_proxy.ts";
import {
  gatewayObject,
  ingressObject,
  routeObject,
  TranslatedFleet,
} from "../support/translated_fleet.ts";

function age(day: number): { readonly creationTimestamp: string } {
  return { creationTimestamp: `2026-01-${String(day).padStart(2, "0")}T00:00:00Z` };
}

/** A listener of HTTP on port 80. */
function http(name: string, hostname?: string): object {
  return { name, port: 80, protocol: "HTTP", ...(hostname === undefined ? {} : { hostname }) };
}

const FIRST = gatewayObject("first", { ...age(1), listeners: [http("http", "*.first.test")] });
const SECOND = gatewayObject("second", { ...age(2), listeners: [http("http", "*.second.test")] });

function routeOf(name: string, hostname: string, gateway = name, namespace = "shop") {
  return routeObject(name, { namespace, parents: [gateway], hostnames: [hostname] });
}

Deno.test("a Gateway that comes and goes beside Ingresses costs no request of an Ingress or another Gateway", async () => {
  await using scene = await TranslatedFleet.start({ rangeSize: 1, address: "shared" });
  const first = routeOf("first", "a.first.test");
  await scene.apply({ gateways: [FIRST], httpRoutes: [first] });
  const { port } = scene;
  await using load = new RequestLoad([
    { port, host: "ingress.test" },
    { port, host: "a.first.test" },
  ]);
  for (let round = 0; round < 40; round++) {
    await scene.apply({
      gateways: [FIRST, SECOND],
      httpRoutes: [first, routeOf("second", "*.second.test")],
    });
    assert.equal(await statusAt(port, { host: "a.b.second.test" }), 200);
    await load.more(8);
    await scene.apply({ gateways: [FIRST], httpRoutes: [first] });
    assert.equal(await statusAt(port, { host: "a.b.second.test" }), 404);
    await load.more(8);
  }
  await load.stop();
  assert.deepEqual(load.failures, []);
  assert.deepEqual(scene.fleet.sockets, { open: [], obstacles: [] });
  assert.equal(scene.fleet.restarts, 0);
});

/** A backend that counts requests by the value of the header `X-Kind` that a route sets. */
function countingBackend() {
  const kinds: string[] = [];
  const backend = new Backend(async (peer) => {
    for (let request; (request = await peer.request()) !== null;) {
      kinds.push(/^x-kind: (.*)$/im.exec(request.head)?.[1].trim() ?? "ingress");
      await peer.send(reply("ok"));
    }
  });
  return { kinds, backend };
}

Deno.test("an Ingress that is deleted under load: its host is the HTTPRoute's without a failed request, and back", async () => {
  const { kinds, backend } = countingBackend();
  await using scene = await TranslatedFleet.start({ rangeSize: 1, address: "shared" }, backend);
  const gateways = [gatewayObject("web", { listeners: [http("http")] })];
  const rules = [{
    filters: [{
      type: "RequestHeaderModifier",
      requestHeaderModifier: { set: [{ name: "X-Kind", value: "route" }] },
    }],
    backendRefs: [{ name: "web", port: 80 }],
  }];
  const httpRoutes = [
    routeObject("new", { parents: ["web"], hostnames: ["app.test"], rules }),
  ];
  const old = ingressObject("old", "app.test");
  const { port } = scene;
  const kindNow = async () => {
    const from = kinds.length;
    // On a connection that no request of the load is on.
    assert.equal(await statusAt(port, { host: "app.test", headers: "X-Probe: 1\r\n" }), 200);
    return new Set(kinds.slice(from));
  };
  const both = await scene.apply({ gateways, httpRoutes, ingresses: [old] });
  const [{ conditions: [accepted] }] = both.gateway!.routes[0].parents;
  assert.deepEqual([accepted.status, accepted.message], [
    "True",
    "host app.test is served by Ingress shop/old until it is deleted.",
  ]);
  assert.deepEqual(await kindNow(), new Set(["ingress"]));
  await using load = new RequestLoad([{ port, host: "app.test" }, { port, host: "app.test" }]);
  for (let round = 0; round < 20; round++) {
    await load.more(10);
    await scene.apply({ gateways, httpRoutes, ingresses: [] });
    await load.more(10);
    await scene.apply({ gateways, httpRoutes, ingresses: [old] });
  }
  await load.stop();
  assert.deepEqual(load.failures, []);
  assert.deepEqual(await kindNow(), new Set(["ingress"]));
  await scene.apply({ gateways, httpRoutes, ingresses: [] });
  assert.deepEqual(await kindNow(), new Set(["route"]));
});

interface SecretObject {
  readonly metadata: { readonly name: string; readonly namespace: string };
  readonly data: Readonly<Record<string, string>>;
}

async function secretFor(
  name: string,
  names: readonly string[],
  namespace = "shop",
): Promise<SecretObject> {
  const { chain, key } = await authority.issue({ names });
  return {
    metadata: { name, namespace },
    data: { "tls.crt": btoa(chain), "tls.key": btoa(key.reveal()) },
  };
}

async function namesShown(port: number, name: string): Promise<string> {
  using client = await TlsClient.connect(port, { name });
  return client.names;
}

Deno.test("over HTTPS each host has its own certificate, and never that of another namespace", async () => {
  await using scene = await TranslatedFleet.start({
    ...{ rangeSize: 1, address: "shared", namespaces: ["shop", "evil"] },
  });
  const https = (name: string, secret: string, hostname?: string) => ({
    ...{ name, port: 443, protocol: "HTTPS" },
    ...(hostname === undefined ? {} : { hostname }),
    tls: { certificateRefs: [{ name: secret }] },
  });
  const gateways = [
    gatewayObject("evil", {
      ...{ namespace: "evil", ...age(1) },
      listeners: [https("https", "evil"), http("http")],
    }),
    gatewayObject("web", {
      ...age(2),
      listeners: [https("https", "web", "*.web.test"), http("http", "*.web.test")],
    }),
  ];
  const httpRoutes = [
    routeOf("web", "a.web.test"),
    // Neither host is its own.
    routeObject("evil", {
      ...{ namespace: "evil", parents: ["evil"] },
      hostnames: ["ingress.test", "plain.test", "evil.test"],
    }),
  ];
  const ingresses = [
    ingressObject("tls", "ingress.test", {
      secretName: "ingress",
      creationTimestamp: "2020-01-01T00:00:00Z",
    }),
    ingressObject("plain", "plain.test", { creationTimestamp: "2020-01-01T00:00:00Z" }),
  ];
  const secrets = [
    await secretFor("ingress", ["ingress.test"]),
    await secretFor("web", ["a.web.test"]),
    await secretFor("evil", ["evil.test", "ingress.test", "plain.test", "a.web.test"], "evil"),
  ];
  await scene.apply({ gateways, httpRoutes, ingresses, secrets });
  const { port, tlsPort } = scene;
  assert.equal(await namesShown(tlsPort, "ingress.test"), "ingress.test");
  assert.equal(await namesShown(tlsPort, "a.web.test"), "a.web.test");
  assert.match(await namesShown(tlsPort, "evil.test"), /^evil\.test/);
  for (const name of ["plain.test", "b.web.test", "other.test"]) {
    assert.match(
      await handshakeError(TlsClient.connect(tlsPort, { name })),
      /UnrecognisedName/,
      name,
    );
  }
  using client = await TlsClient.connect(tlsPort, { name: "a.web.test" });
  const at = async (host: string) => {
    const [, status] = (await client.ask(`GET / HTTP/1.1\r\nHost: ${host}`)).split(" ");
    return Number(status);
  };
  assert.equal(await at("a.web.test"), 200);
  // It has another certificate.
  assert.equal(await at("ingress.test"), 421);
  assert.equal(await at("evil.test"), 421);
  // Plain HTTP of the Ingress goes to HTTPS; that of the Gateway's routes does not.
  assert.equal(await statusAt(port, { host: "ingress.test" }), 308);
  assert.equal(await statusAt(port, { host: "plain.test" }), 200);
  assert.equal(await statusAt(port, { host: "a.web.test" }), 200);
  assert.equal(await statusAt(port, { host: "evil.test" }), 200);
  using peer = await Peer.connect(port);
  assert.equal(statusOf(await peer.ask("GET / HTTP/1.1\r\nHost: b.web.test\r\n\r\n")), 404);
});
