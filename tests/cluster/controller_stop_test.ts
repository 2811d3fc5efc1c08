/** The controller as a process on a real API server: how it ends, whatever it waits for. */
import assert from "node:assert/strict";
import { STREAM } from "../../controller/outputs/workload/names.ts";
import { clusterTest } from "./support/cluster_case.ts";
import { eventually } from "./support/condition.ts";
import { ControllerScene } from "./support/controller_scene.ts";
import { type Answer, failure, heldUntil } from "./support/gateway_answers.ts";
import type { RequestMatch } from "./support/api_gateway.ts";

const CERTIFICATES = new URL("../golden/certificates/", import.meta.url);

function pem(name: string): string {
  return Deno.readTextFileSync(new URL(name, CERTIFICATES));
}

const LIST_SERVICES: RequestMatch = { verb: "list", resource: "services" };

clusterTest(
  "a controller stopped while it waits for Secrets or lists publishes nothing",
  async (cluster) => {
    const waits: { readonly call: RequestMatch; readonly answer: Answer }[] = [
      {
        call: { verb: "get", resource: "secrets", name: "shop-tls" },
        answer: failure(403, "Forbidden"),
      },
      // Read by a job that is told to stop only after the read was abandoned.
      {
        call: { verb: "get", resource: "secrets", name: STREAM.authority },
        answer: heldUntil(new Promise(() => {})),
      },
      { call: LIST_SERVICES, answer: heldUntil(new Promise(() => {})) },
    ];
    for (const { call, answer } of waits) {
      await using scene = await ControllerScene.prepare(cluster, { gateway: true });
      await scene.service("web");
      await scene.tlsSecret("shop-tls", { "tls.crt": pem("app.crt"), "tls.key": pem("app.key") });
      await scene.ingress("shop", {
        tls: [{ hosts: ["app.example.com"], secretName: "shop-tls" }],
      });
      const held = scene.gateway!.inject(call, answer);
      // Of the authority nothing waits: without this, a translation may be published before the stop.
      if (call.name === STREAM.authority) {
        scene.gateway!.inject(LIST_SERVICES, heldUntil(new Promise(() => {})));
      }
      const controller = await scene.spawnController();
      await controller.line("Leading");
      await eventually(`${call.verb} of ${call.resource}`, () => held.hits > 0);
      assert.equal(await controller.stop(), 0);
      const messages = controller.lines.map(({ message }) => message);
      assert.ok(messages.includes("Stopped"));
      for (const late of ["Ready", "Published", "Job failed, will be retried"]) {
        assert.ok(!messages.includes(late), late);
      }
      assert.equal(await scene.indexVersion(), "");
    }
  },
);
