/** Gateways that come and go, or ask for more than there is, beside others that are served meanwhile. */
import assert from "node:assert/strict";
import type { Translation } from "../../controller/translate/translator.ts";
import { Backend, reply, until } from "../support/backend.ts";
import { accepts } from "../support/gateway_listeners.ts";
import { answerAt, RequestLoad, statusAt } from "../support/request_load.ts";
import {
  backendRef,
  gatewayObject,
  routeObject,
  TranslatedFleet,
} from "../support/translated_fleet.ts";

Deno.test("240 Gateways come and go under load on an Ingress and another Gateway, without a failed request on these", async () => {
  const lines: string[] = [];
  await using scene = await TranslatedFleet.start({
    rangeSize: 16,
    drainDelay: 30,
    onLines: (text) => lines.push(...text.trimEnd().split("\n")),
  });
  const stays = gatewayObject("stays");
  const routes = (names: readonly string[]) => [
    routeObject("stays", { parents: ["stays"] }),
    ...names.map((name) => routeObject(name, { parents: [name] })),
  ];
  await scene.apply({ gateways: [stays], httpRoutes: routes([]) });
  const socket = scene.socketOf("stays")!;
  await using load = new RequestLoad([{ port: scene.port, host: "ingress.test" }, {
    port: socket,
  }]);
  for (let round = 0; round < 60; round++) {
    // Those of the round before go in the same change. The range has no room for all that drain: sockets
    // change hands.
    const names = Array.from({ length: 4 }, (_, i) => `gw-${round}-${i}`);
    await scene.apply({
      gateways: [stays, ...names.map((name, i) => gatewayObject(name, { ports: [80, 8080 + i] }))],
      httpRoutes: routes(names),
    });
    assert.equal(scene.socketOf("stays"), socket);
    const answers = await Promise.all(names.map((name) => answerAt(scene.socketOf(name)!)));
    // Two whole runs of CI had a connection that was closed without a response, for a cause that is not
    // known: the workers' log, and whether a second request gets a response, are printed to find it.
    const again = answers.every((answer) => answer === 200)
      ? []
      : await Promise.all(names.map((name) => answerAt(scene.socketOf(name)!)));
    const context = { again, sockets: scene.fleet.sockets, lines: lines.slice(-20) };
    assert.deepEqual({ answers, ...context }, { answers: [200, 200, 200, 200], ...context });
    await load.more(8);
  }
  await scene.apply({ gateways: [stays], httpRoutes: routes([]) });
  await until("the last are closed", () => scene.fleet.sockets.open.length === 1);
  await load.more(20);
  await load.stop();
  assert.deepEqual(load.failures, []);
  assert.deepEqual(scene.fleet.sockets, { open: [String(socket)], obstacles: [] });
  assert.equal(scene.fleet.restarts, 0);
});

/** Whether a listener of a Gateway has a port, and if not, why. */
function reasonOf({ gateway }: Translation, name: string, index: number): string {
  const status = gateway!.gateways.find(({ identity }) => identity.ref.name === name)!;
  return status.listeners[index].conditions.find(({ type }) => type === "Accepted")!.reason;
}

Deno.test("of 16 Gateways with 64 ports each the oldest are served, and the others take ports that become free", async () => {
  // All of them are in one namespace, which gets half of the range.
  await using scene = await TranslatedFleet.start({ rangeSize: 512, drainDelay: 30 });
  const ports = Array.from({ length: 64 }, (_, i) => 8000 + i);
  const all = Array.from({ length: 16 }, (_, i) =>
    gatewayObject(`gw-${i}`, {
      ports,
      // The names are in the other order.
      creationTimestamp: `2026-01-01T00:00:${String(59 - i)}Z`,
    }));
  const httpRoutes = [
    routeObject("all", { parents: all.map(({ metadata: { name } }) => name) }),
  ];
  const served = (translation: Translation) =>
    all.map(({ metadata: { name } }) => name)
      .filter((name) =>
        translation.gateway!.gateways.some(({ identity }) => identity.ref.name === name)
      )
      .map((name) => {
        const reasons = ports.map((_, i) => reasonOf(translation, name, i));
        return [name, reasons.filter((reason) => reason === "Accepted").length] as const;
      })
      .filter(([, count]) => count > 0);

  const first = await scene.apply({ gateways: all, httpRoutes });
  assert.deepEqual(served(first), [["gw-12", 64], ["gw-13", 64], ["gw-14", 64], ["gw-15", 64]]);
  assert.equal(reasonOf(first, "gw-0", 0), "PortUnavailable");
  assert.deepEqual(
    first.gateway!.gateways.find(({ identity }) => identity.ref.name === "gw-0")!.conditions
      .map(({ status, reason }) => [status, reason]),
    [["False", "ListenersNotValid"]],
  );
  assert.equal(scene.fleet.sockets.open.length, 256);
  assert.deepEqual(scene.fleet.sockets.obstacles, []);
  const sockets = ports.map((port) => scene.socketOf("gw-12", port)!);
  for (const socket of sockets) assert.equal(await statusAt(socket), 200);
  assert.equal(scene.socketOf("gw-11", ports[0]), null);

  // A new one takes nothing from those that are served, even if it says that it is older.
  const older = gatewayObject("a", { ports, creationTimestamp: "2025-01-01T00:00:00Z" });
  const second = await scene.apply({ gateways: [older, ...all], httpRoutes });
  assert.equal(reasonOf(second, "a", 0), "PortUnavailable");
  assert.deepEqual(ports.map((port) => scene.socketOf("gw-12", port)), sockets);

  // The next in order of age takes the ports of one that goes, while others are asked without a pause.
  await using load = new RequestLoad(sockets.slice(0, 2).map((port) => ({ port })));
  const rest = all.filter(({ metadata: { name } }) => name !== "gw-15");
  const third = await scene.apply({ gateways: rest, httpRoutes });
  assert.deepEqual(served(third), [["gw-11", 64], ["gw-12", 64], ["gw-13", 64], ["gw-14", 64]]);
  for (const port of ports) assert.equal(await statusAt(scene.socketOf("gw-11", port)!), 200);
  assert.equal(scene.fleet.sockets.open.length, 256);
  await scene.apply({ gateways: [rest[12]], httpRoutes });
  await until("the others are closed", () => scene.fleet.sockets.open.length === 64);
  await load.more(20);
  await load.stop();
  assert.deepEqual(load.failures, []);
  assert.equal(await accepts(sockets[63]), true);
});

Deno.test("each of 16 rules with 64 matches of a route is served", async () => {
  const paths: string[] = [];
  const backend = new Backend(async (peer) => {
    for (let request; (request = await peer.request()) !== null;) {
      paths.push(request.head.split(" ")[1]);
      await peer.send(reply("ok"));
    }
  });
  await using scene = await TranslatedFleet.start({ rangeSize: 1 }, backend);
  const pathOf = (rule: number, match: number) => `/rule-${rule}/match-${match}`;
  const rules = Array.from({ length: 16 }, (_, rule) => ({
    matches: Array.from({ length: 64 }, (_, match) => ({
      path: { type: match % 2 === 0 ? "PathPrefix" : "Exact", value: pathOf(rule, match) },
      headers: [{ name: "x-rule", value: String(rule) }, { name: "x-match", value: "yes" }],
    })),
    backendRefs: [backendRef()],
  }));
  const { gateway } = await scene.apply({
    gateways: [gatewayObject("web")],
    httpRoutes: [routeObject("large", { parents: ["web"], rules })],
  });
  const [{ parents: [{ conditions }] }] = gateway!.routes;
  assert.deepEqual(conditions.map(({ type, status }) => [type, status]), [
    ["Accepted", "True"],
    ["ResolvedRefs", "True"],
  ]);
  const socket = scene.socketOf("web")!;
  const expected: string[] = [];
  for (let rule = 0; rule < 16; rule++) {
    for (const match of [0, 1, 31, 62, 63]) {
      const path = pathOf(rule, match);
      const headers = `X-Rule: ${rule}\r\nX-Match: yes\r\n`;
      assert.equal(await statusAt(socket, { path, headers }), 200, path);
      expected.push(path);
      const other = `X-Rule: ${rule + 1}\r\nX-Match: yes\r\n`;
      assert.equal(await statusAt(socket, { path, headers: other }), 404, path);
    }
  }
  assert.deepEqual(paths, expected);
});

Deno.test("a grant that is taken away under load: requests are answered, by 200 before and 500 after", async () => {
  let reached = 0;
  const backend = new Backend(async (peer) => {
    while (await peer.request() !== null) {
      reached++;
      await peer.send(reply("ok"));
    }
  });
  await using scene = await TranslatedFleet.start(
    { rangeSize: 1, workers: 3, namespaces: ["shop", "stock"] },
    backend,
  );
  const gateways = [gatewayObject("web")];
  const httpRoutes = [
    routeObject("own", { parents: ["web"], hostnames: ["own.test"] }),
    routeObject("across", {
      parents: ["web"],
      hostnames: ["across.test"],
      rules: [{ backendRefs: [backendRef("stock")] }],
    }),
  ];
  const referenceGrants = [{
    metadata: { name: "shop", namespace: "stock" },
    spec: {
      from: [{ group: "gateway.networking.k8s.io", kind: "HTTPRoute", namespace: "shop" }],
      to: [{ group: "", kind: "Service" }],
    },
  }];
  await scene.apply({ gateways, httpRoutes, referenceGrants });
  const port = scene.socketOf("web")!;
  /** Of `across.test`, while it does not change; null meanwhile: either is right then. */
  let expected: number | null = 200;
  let since = performance.now();
  await using load = new RequestLoad(
    [{ port, host: "own.test" }, { port, host: "across.test" }, { port, host: "across.test" }],
    ({ target: { host }, status, begun }) => {
      if (host === "own.test") return status === 200;
      return expected === null || begun < since
        ? status === 200 || status === 500
        : status === expected;
    },
  );
  const change = async (to: number) => {
    expected = null;
    await scene.apply({ gateways, httpRoutes, ...(to === 200 ? { referenceGrants } : {}) });
    [expected, since] = [to, performance.now()];
  };
  for (let round = 0; round < 20; round++) {
    await load.more(20);
    await change(500);
    await load.more(20);
    await change(200);
  }
  await load.stop();
  assert.deepEqual(load.failures, []);

  await change(500);
  const before = reached;
  assert.equal(await statusAt(port, { host: "across.test" }), 500);
  assert.equal(reached, before);
});
