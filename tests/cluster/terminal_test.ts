/** `pingress status --watch` at a terminal: the screen is drawn over, and nothing of the last one stays. */
import { equal } from "node:assert/strict";
import { taskArguments } from "../support/dev_process.ts";
import { Tmux } from "../support/tmux.ts";
import { assertScreen } from "../support/tmux_golden.ts";
import type { KubeObject } from "./support/api_client.ts";
import { clusterTest } from "./support/cluster_case.ts";
import { manifest } from "./support/kubectl.ts";

for (const columns of [40, 80, 120]) {
  clusterTest(`status --watch draws over a terminal of ${columns} columns`, async (cluster) => {
    await cluster.apply(await manifest<KubeObject>("ingress-class.yaml"));
    const namespace = await cluster.newNamespace("t");
    const ingress = (name: string, host: string) => ({
      apiVersion: "networking.k8s.io/v1",
      kind: "Ingress",
      metadata: { name, namespace },
      spec: {
        ingressClassName: "pingress",
        rules: [{
          host,
          http: {
            paths: [{
              path: "/",
              pathType: "Prefix",
              backend: { service: { name: "web", port: { number: 80 } } },
            }],
          },
        }],
      },
    } as unknown as KubeObject);
    await cluster.create(ingress("app", "app.example.com"));
    const kubeconfig = await cluster.writeFile(cluster.kubeconfigFor(cluster.adminToken));
    const command = [
      ...[Deno.execPath(), ...taskArguments("pingress"), "status", "--watch"],
      ...[`--namespace=${namespace}`, `--kubeconfig=${kubeconfig}`],
    ];
    await using terminal = await Tmux.start(command, { columns, rows: 30 });
    if (terminal === null) return;
    const hidden = (screen: string) => screen.replaceAll(namespace, "N".repeat(namespace.length));
    const first = await terminal.until((screen) => /\/app|\bapp\b/.test(screen));
    assertScreen(`status-${columns}`, hidden(first));
    await cluster.create(ingress("second", "a-much-longer-name.second.example.com"));
    const second = await terminal.until((screen) => screen.includes("second"));
    assertScreen(`status-more-${columns}`, hidden(second));
    await cluster.delete("networking.k8s.io/v1", "Ingress", "second", namespace);
    const third = await terminal.until((screen) => !screen.includes("second"));
    equal(third, first);
    await terminal.key("C-c");
    await terminal.until((screen) => screen.endsWith("[exit 130]"));
    equal(await terminal.hasCursor(), true);
  });
}
