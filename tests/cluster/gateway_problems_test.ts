/** Problems of Gateway API: on the admin port, in metrics and in the log, until they are solved. */
import assert from "node:assert/strict";
import { clusterTest } from "./support/cluster_case.ts";
import { eventually } from "./support/condition.ts";
import { ControllerScene } from "./support/controller_scene.ts";
import type { KubeObject } from "./support/api_client.ts";
import { gatewayCrd, installGatewayCrds, removeCrd } from "./support/gateway_crds.ts";
import { type LiveStatus, V1 } from "./support/gateway_status_scene.ts";
import { ownEvents } from "./support/own_events.ts";
import { gatewayClass } from "./support/gateway_objects.ts";

interface Row {
  readonly object: string;
  readonly field: string;
  readonly reason: string;
  readonly message: string;
  readonly remedy: string;
  readonly severity: string;
}

clusterTest(
  "problems of Gateways, listeners and routes are shown with field and remedy until they are solved",
  async (cluster) => {
    await installGatewayCrds(cluster);
    await using scene = await ControllerScene.prepare(cluster, {
      args: ["--service-type=ClusterIP"],
    });
    const { app } = scene;
    const gateway = (listeners: readonly unknown[], more: object = {}) =>
      cluster.apply({
        apiVersion: V1,
        kind: "Gateway",
        metadata: { name: "web" },
        spec: { gatewayClassName: "pingress", listeners, ...more },
      }, { namespace: app });
    const route = (...rules: readonly object[]) =>
      cluster.apply({
        apiVersion: V1,
        kind: "HTTPRoute",
        metadata: { name: "shop" },
        spec: { parentRefs: [{ name: "elsewhere" }, { name: "web" }], rules },
      }, { namespace: app });
    const http = { name: "http", port: 80, protocol: "HTTP" };
    await cluster.apply(gatewayClass());
    await scene.service("web");
    const tls = { certificateRefs: [{ name: "missing" }] };
    await gateway([http, { name: "https", port: 443, protocol: "HTTPS", tls }], {
      addresses: [{ type: "Hostname", value: "web.example.com" }],
    });
    const served = { backendRefs: [{ name: "web", port: 80 }] };
    await route(served, { backendRefs: [{ name: "gone", port: 80 }] });
    await using controller = await scene.startController();
    const shown = async (): Promise<Row[]> =>
      (await scene.problems() as readonly Row[]).filter(({ object }) =>
        /^(?:Gateway|HTTPRoute) /.test(object)
      );
    const rows = await eventually("three problems", async () => {
      const rows = await shown();
      return rows.length === 3 ? rows : null;
    });
    assert.deepEqual(rows.map(({ message: _, ...row }) => row), [
      {
        object: `Gateway ${app}/web`,
        field: "spec.listeners[1].tls.certificateRefs[0]",
        reason: "InvalidCertificateRef",
        remedy: "Create the Secret, or write the name of another one",
        severity: "error",
      },
      {
        object: `HTTPRoute ${app}/shop`,
        field: "spec.rules[1].backendRefs[0]",
        reason: "BackendNotFound",
        remedy: "Create the Service, or write the name of another one",
        severity: "error",
      },
      {
        object: `Gateway ${app}/web`,
        field: "spec.addresses",
        reason: "AddressNotUsable",
        remedy: "Write addresses of type IPAddress, or none",
        severity: "error",
      },
    ]);
    assert.match(rows[0].message, new RegExp(`^Secret ${app}/missing does not exist$`));
    const metric = (reason: string) =>
      controller.metric(`pingress_config_problems{reason="${reason}"}`);
    assert.equal(await metric("BackendNotFound"), 1);
    const logged = (message: string) =>
      controller.line((line) => line.message === message && line.reason === "BackendNotFound");
    const { object, field } = await logged("Configuration error");
    assert.deepEqual([object, field], [rows[1].object, rows[1].field]);

    await gateway([http]);
    await route(served);
    await eventually("no problems", async () => (await shown()).length === 0);
    assert.equal(await metric("BackendNotFound"), 0);
    await logged("Problem resolved");
    assert.deepEqual(await ownEvents(cluster, app), []);
  },
);

/** Milliseconds; a kind must have been missing for ten seconds. */
const DISCOVERY_PATIENCE = 60_000;

clusterTest(
  "without the CRD of HTTPRoutes, Gateways keep their problems, and get their status",
  async (cluster) => {
    await installGatewayCrds(cluster);
    await using scene = await ControllerScene.prepare(cluster, {
      args: ["--service-type=ClusterIP"],
    });
    const { app } = scene;
    const gateway = (...listeners: readonly unknown[]) =>
      cluster.apply({
        apiVersion: V1,
        kind: "Gateway",
        metadata: { name: "web" },
        spec: { gatewayClassName: "pingress", listeners },
      }, { namespace: app });
    const secure = {
      ...{ name: "https", port: 443, protocol: "HTTPS" },
      tls: { certificateRefs: [{ name: "missing" }] },
    };
    await cluster.apply(gatewayClass());
    await gateway(secure);
    await using controller = await scene.startController();
    const reasons = async () =>
      (await scene.problems() as readonly Row[])
        .filter(({ object }) => object === `Gateway ${app}/web`).map(({ reason }) => reason);
    await eventually("the problem", async () => (await reasons())[0] === "InvalidCertificateRef");
    await removeCrd(cluster, gatewayCrd("HTTPRoute", ["v1"]));
    try {
      await eventually(
        "the end of HTTPRoutes",
        () =>
          controller.lines.some(({ message, kind }) =>
            message === "A kind of Gateway API is no longer served" && kind === "httproutes"
          ),
        DISCOVERY_PATIENCE,
      );
      await gateway(secure, { name: "http", port: 80, protocol: "HTTP" });
      await eventually("status of the new listener", async () => {
        const live = await cluster.get<KubeObject & { readonly status?: LiveStatus }>(
          ...[V1, "Gateway", "web", app] as const,
        );
        return live?.status?.listeners?.some(({ name }) => name === "http") ?? false;
      });
      assert.equal((await reasons())[0], "InvalidCertificateRef");
      const isResolved = controller.lines.some(({ message, reason }) =>
        message === "Problem resolved" && reason === "InvalidCertificateRef"
      );
      assert.equal(isResolved, false);
    } finally {
      await installGatewayCrds(cluster);
    }
  },
);
