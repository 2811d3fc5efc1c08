/**
 * All promises, in an order in which one cluster can keep them. In: a scene. Out: their findings.
 * Only the last ones change how proxies run.
 */
import { apiServerGone } from "./api_server_gone.ts";
import { applicationCrash } from "./application_crash.ts";
import { applicationRollout } from "./application_rollout.ts";
import { certificateRotation } from "./certificate.ts";
import { changeToTraffic } from "./change_to_traffic.ts";
import { churn } from "./churn.ts";
import { controllerGone } from "./controller_gone.ts";
import type { Finding } from "./finding.ts";
import { gatewayAddress } from "./gateway_address.ts";
import { grpcRollout } from "./grpc_rollout.ts";
import { handOver } from "./hand_over.ts";
import { proxyRollout } from "./proxy_rollout.ts";
import { reload } from "./reload.ts";
import { HOLD, scaleToZero } from "./scale_to_zero.ts";
import type { Form, Scene } from "./scene.ts";
import { soak } from "./soak.ts";

export interface PromiseCase {
  /** What the user is promised. */
  readonly title: string;
  readonly run: (scene: Scene, form: Form) => Promise<Finding>;
}

const HOLDING = [`--proxy-arg=--hold-timeout=${HOLD}s`];
const BEHIND_SERVICE = ["--service-type=ClusterIP", "--proxy-replicas=2"];

export const PROMISES: readonly PromiseCase[] = [
  { title: "a route is served a moment after it was applied", run: changeToTraffic },
  { title: "an application is rolled out without a failed request", run: applicationRollout },
  { title: "a gRPC service is rolled out without a failed call", run: grpcRollout },
  { title: "a crash fails only what was under way and may not be repeated", run: applicationCrash },
  {
    title: "without a pod there is 503 with a reason at once",
    run: (scene, form) => scaleToZero(scene, form, false),
  },
  { title: "a certificate is rotated without a failed handshake", run: certificateRotation },
  { title: "Ingresses come and go without harm to the others", run: churn },
  { title: "a reload loses no request and closes no connection", run: reload },
  { title: "nothing fails without an API server", run: apiServerGone },
  { title: "nothing fails without a controller", run: controllerGone },
  { title: "a leader that is killed leaves nothing half done", run: handOver },
  { title: "everything at random fails nothing", run: (scene, form) => soak(scene, form) },
  {
    title: "proxies of a DaemonSet are replaced without a failed request",
    run: (scene) => proxyRollout(scene, "DaemonSet", () => scene.configure("HostPort", HOLDING)),
  },
  {
    title: "with --hold-timeout a request waits for a pod",
    run: async (scene, form) => {
      await scene.configure("HostPort", HOLDING);
      return await scaleToZero(scene, form, true);
    },
  },
  {
    title: "proxies of a Deployment are replaced without a failed request",
    run: async (scene) => {
      await scene.configure("LoadBalancer", BEHIND_SERVICE);
      return await proxyRollout(scene, "Deployment", () => scene.restartProxies("Deployment"));
    },
  },
  {
    title: "the address of a Gateway survives its proxies",
    run: async (scene, form) => {
      await scene.configure("LoadBalancer", BEHIND_SERVICE);
      return await gatewayAddress(scene, form);
    },
  },
];
