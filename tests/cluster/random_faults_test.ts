/**
 * Random changes of objects while the way to the API server breaks in random ways, and the controller is killed
 * at random. In: a seed (`PINGRESS_SEED`). Out: what is published then is what a controller publishes that has
 * seen nothing of it, but starts with the objects of the end.
 */
import { deepEqual } from "node:assert/strict";
import { randomNumbers } from "../support/rich_cluster.ts";
import type { Snapshot } from "../../shared/snapshot/types.ts";
import type { ApiGateway, Injection } from "./support/api_gateway.ts";
import { clusterTest } from "./support/cluster_case.ts";
import { eventually } from "./support/condition.ts";
import { ControllerScene, rule } from "./support/controller_scene.ts";
import { FAST_ELECTION } from "./support/elections.ts";
import { pem } from "./support/mistake.ts";
import { failure, gone, goneInWatch, watchThatSays } from "./support/gateway_answers.ts";

const SEED = Number(Deno.env.get("PINGRESS_SEED") ?? 1);
const STEPS = Number(Deno.env.get("PINGRESS_STEPS") ?? 60);

/** Milliseconds: pauses between tries of a controller that met many faults in a row grow to 30 s. */
const RECOVERY = 60_000;

const NAMES = ["a", "b", "c", "d"];
const RESOURCES = ["ingresses", "services", "endpointslices", "secrets", "configmaps"];

clusterTest(
  "after random changes, faults and restarts, a controller serves what a new one does",
  async (cluster) => {
    const random = randomNumbers(SEED);
    const below = (count: number) => Math.floor(random() * count);
    const one = <T>(list: readonly T[]): T => list[below(list.length)];
    await using scene = await ControllerScene.prepare(cluster, {
      gateway: true,
      args: FAST_ELECTION,
    });
    const { gateway, app } = scene;
    const injections: Injection[] = [];
    const inject: ApiGateway["inject"] = (...rule) => {
      const injection = gateway!.inject(...rule);
      injections.push(injection);
      return injection;
    };
    const certificate = (name: string) => ({
      "tls.crt": pem(`${name}.crt`),
      "tls.key": pem(`${name}.key`),
    });
    const change: Record<string, () => Promise<unknown>> = {
      ingress: () => {
        const name = one(NAMES);
        return scene.ingress(name, {
          rules: Array.from(
            { length: 1 + below(3) },
            () => rule(`${one(NAMES)}.example.com`, one(["/", "/x", "/y"]), one(NAMES)),
          ),
          tls: below(2) === 0 ? [] : [{ hosts: ["app.example.com"], secretName: one(NAMES) }],
        });
      },
      noIngress: () => scene.remove("Ingress", one(NAMES)).catch(() => {}),
      service: () =>
        scene.service(
          one(NAMES),
          Array.from({ length: below(3) }, (_, i) => `10.0.${below(9)}.${i}`),
        ),
      noService: () => scene.remove("Service", one(NAMES), "v1").catch(() => {}),
      noSlice: () =>
        scene.remove("EndpointSlice", `${one(NAMES)}-a`, "discovery.k8s.io/v1").catch(() => {}),
      secret: () => scene.tlsSecret(one(NAMES), certificate(one(["app", "renewed"]))),
      noSecret: () => scene.remove("Secret", one(NAMES), "v1").catch(() => {}),
    };
    const fault: Record<string, () => unknown> = {
      endedWatches: () => gateway!.endStreams({ verb: "watch", resource: one(RESOURCES) }),
      brokenWatches: () => gateway!.endStreams({ verb: "watch" }, "abort"),
      forgottenWatches: () => {
        const match = { verb: "watch", resource: one(RESOURCES) } as const;
        inject(match, one([gone(), goneInWatch()]), 1);
        gateway!.endStreams(match);
      },
      garbledWatch: () => {
        const match = { verb: "watch", resource: one(RESOURCES) } as const;
        inject(
          match,
          watchThatSays('{"type":"ADDED","object":{"metadata":{}}}\n{"typ'),
          1,
        );
        gateway!.endStreams(match);
      },
      failingLists: () => inject({ verb: "list", resource: one(RESOURCES) }, failure(500), 2),
      failingGets: () => inject({ verb: "get", resource: "secrets" }, failure(503), 2),
      failingWrites: () => inject({ method: "PATCH" }, failure(500), 2),
      lostPublication: () =>
        cluster.delete(
          "v1",
          "ConfigMap",
          one(["pingress-config-v2", "pingress-claims"]),
          scene.system,
        )
          .catch(() => {}),
    };
    await scene.startController();
    const steps: string[] = [];
    for (let i = 0; i < STEPS; i++) {
      const kind = below(20);
      if (kind === 0) {
        steps.push("restart");
        await scene.controller.kill();
        await scene.spawnController();
        continue;
      }
      const [of, name] = kind < 7
        ? [fault, one(Object.keys(fault))] as const
        : [change, one(Object.keys(change))] as const;
      steps.push(name);
      await of[name]();
    }
    // Those that nobody has met yet would pile up.
    for (const injection of injections) injection.remove();
    await scene.controller.ready(RECOVERY);
    await using fresh = await ControllerScene.start(cluster, {
      args: [...FAST_ELECTION, `--watch-namespace=${app}`],
      watchesAll: true,
    });
    await scene.ingress("last");
    const contentOf = (snapshot: Snapshot) => {
      const { version: _version, loopMark: _mark, ...content } = snapshot;
      return JSON.parse(JSON.stringify(content));
    };
    const isLast = ({ routes }: Snapshot) => routes.some(({ host }) => host === "last.example.com");
    const expected = contentOf(await fresh.eventuallyPublished("a new one", isLast));
    let actual: unknown = null;
    try {
      await eventually("the same", async () => {
        const snapshot = await scene.published();
        actual = snapshot && contentOf(snapshot);
        return JSON.stringify(actual) === JSON.stringify(expected);
      }, RECOVERY);
    } catch {
      deepEqual(actual, expected, `seed ${SEED}: ${steps.join(" ")}`);
    }
    await eventually(
      "claims",
      async () => await cluster.get("v1", "ConfigMap", "pingress-claims", scene.system) !== null,
    );
  },
);
