/** Ctrl-C while a command reads a real API server, and while it shows changes. */
import { deepEqual, match } from "node:assert/strict";
import { spawn } from "../support/dev_process.ts";
import { interrupt } from "../support/interrupted.ts";
import { startGateway } from "./support/api_gateway.ts";
import { clusterTest } from "./support/cluster_case.ts";
import { eventually } from "./support/condition.ts";
import { heldUntil } from "./support/gateway_answers.ts";

const BY_SIGNAL = { code: 130, signal: "SIGINT" } as const;

clusterTest("Ctrl-C while an API server does not answer what it was asked", async (cluster) => {
  await using gateway = await startGateway(cluster);
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  gateway.inject({}, heldUntil(released));
  const kubeconfig = await cluster.writeFile(
    cluster.kubeconfigFor(cluster.adminToken, gateway.server),
  );
  for (
    const args of [["check"], ["status", "-A"], ["status", "--watch"], ["lint", "--context=test"]]
  ) {
    const before = gateway.requests.length;
    const { code, signal, out } = await interrupt({
      process: spawn("pingress", [...args, `--kubeconfig=${kubeconfig}`]),
      isThere: () => eventually("request", () => gateway.requests.length > before),
    });
    deepEqual({ code, signal, out }, { ...BY_SIGNAL, out: "" }, args.join(" "));
  }
  release();
});

clusterTest("Ctrl-C while status --watch shows what changes", async (cluster) => {
  const namespace = await cluster.newNamespace();
  const kubeconfig = await cluster.writeFile(cluster.kubeconfigFor(cluster.adminToken));
  const { code, signal, out } = await interrupt({
    process: spawn("pingress", ["status", "-w", `-n=${namespace}`, `--kubeconfig=${kubeconfig}`]),
    isThere: (output) => output.match(/No Ingress/),
  });
  deepEqual({ code, signal }, BY_SIGNAL);
  match(out, /No Ingress/);
});
