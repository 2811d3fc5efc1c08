import assert from "node:assert/strict";
import type { WorkloadOptions } from "./options.ts";
import { proxyMemoryOf } from "./proxy_memory.ts";

const OPTIONS: WorkloadOptions = {
  backend: "HostPort",
  namespace: "pingress-system",
  image: "proxy:1",
  imagePullSecrets: [],
  nodeSelector: {},
  replicas: 2,
  autoscale: null,
  serviceType: "LoadBalancer",
  priorityClass: null,
  drainDelay: 15_000,
  drainTimeout: 300_000,
  stream: true,
  proxyArgs: [],
  podTemplate: null,
};

function limited(memory: unknown): Pick<WorkloadOptions, "podTemplate"> {
  const container = { name: "pingress-proxy-server", resources: { limits: { memory } } };
  return { podTemplate: { spec: { containers: [container] } } };
}

const MIB = 1024 * 1024;

Deno.test("the bound of the published configuration follows the proxies' memory limit and workers", () => {
  const table: [options: Partial<WorkloadOptions>, limit: number, workers: number][] = [
    [{}, 1024 * MIB, 4],
    [{ backend: "LoadBalancer" }, 1024 * MIB, 4],
    [limited("4Gi"), 4096 * MIB, 4],
    [limited("1.5Gi"), 1536 * MIB, 4],
    [limited("500M"), 500e6, 4],
    [limited("1e9"), 1e9, 4],
    [limited(2_000_000_000), 2e9, 4],
    [{ proxyArgs: ["--workers=2"] }, 1024 * MIB, 2],
    [{ proxyArgs: ["--workers", "2"] }, 1024 * MIB, 2],
    [{ proxyArgs: ["--workers=0"] }, 1024 * MIB, 8],
    [{ proxyArgs: ["--memory-limit=512MiB"] }, 512 * MIB, 4],
    // The kernel goes by the container's limit all the same.
    [{ proxyArgs: ["--memory-limit=0"] }, 1024 * MIB, 4],
    [{ proxyArgs: ["--memory-limit=2GiB"] }, 1024 * MIB, 4],
  ];
  for (const [options, limit, workers] of table) {
    const memory = proxyMemoryOf({ ...OPTIONS, ...options });
    assert.deepEqual(memory, { limit, workers }, JSON.stringify(options));
  }
});

Deno.test("without a readable memory limit there is no such bound", () => {
  assert.equal(proxyMemoryOf({ ...OPTIONS, ...limited(null) }), null);
  assert.equal(proxyMemoryOf({ ...OPTIONS, ...limited("plenty") }), null);
});
