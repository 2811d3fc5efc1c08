/** From nothing to an answered request and back, by the tasks that users are told to run. */
import { deepEqual, equal, match } from "node:assert/strict";
import { deployTask } from "../cluster/support/deploy_task.ts";
import { eventually } from "../cluster/support/condition.ts";
import { buildPingress, NAMESPACE } from "./cluster/installation.ts";
import { startNodeCluster } from "./cluster/node_cluster.ts";

/**
 * There is no Service web: what answers is a proxy. Nobody asks the other path, by which the Ingress
 * reaches a backend and so gets an address.
 */
const INGRESS = `
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: { name: web, namespace: default }
spec:
  ingressClassName: pingress
  rules:
    - host: app.test
      http:
        paths:
          - { path: /, pathType: Prefix, backend: { service: { name: web, port: { number: 80 } } } }
          - path: /api
            pathType: Prefix
            backend: { service: { name: api, port: { number: 80 } } }
---
apiVersion: v1
kind: Service
metadata: { name: api, namespace: default }
spec: { ports: [{ port: 80 }] }
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { name: api, namespace: default, labels: { kubernetes.io/service-name: api } }
addressType: IPv4
endpoints: [{ addresses: [192.0.2.1] }]
ports: [{ port: 80 }]
`;

/** The cluster-wide objects and Ingress addresses that undeploy has to take away. */
const OURS = "namespaces,clusterroles,clusterrolebindings,ingressclasses,priorityclasses";

Deno.test("deploy, an Ingress, its curl line, and undeploy", async () => {
  const cluster = await startNodeCluster("deploy and undeploy");
  if (cluster === null) return;
  await using _ = cluster;
  await cluster.explain(async () => {
    const stuck = await deployTask(cluster, "deploy", ["--tag=missing", "--timeout=20s"]);
    equal(stuck?.code, 1);
    match(stuck!.stderr, /^controller: 0 of 2 ready\n {2}pod pingress-controller-.+: .+missing/m);

    await buildPingress(cluster);
    const deployed = await deployTask(cluster, "deploy", []);
    deepEqual([deployed?.code, deployed?.stderr], [0, ""]);
    match(deployed!.stdout, /^controller: 2 of 2 ready$/m);
    match(deployed!.stdout, /kubectl apply -f manifests\/sample\/sample\.yaml$/m);

    await cluster.kubectl(["apply", "--filename=-"], INGRESS);
    const again = await deployTask(cluster, "deploy", []);
    deepEqual([again?.code, again?.stderr], [0, ""]);
    match(again!.stdout, /^proxies: 1 of 1 ready$/m);
    const [, flags] = again!.stdout.match(/^Try it: +curl (.+)$/m)!;
    const curl = new Deno.Command("curl", { args: ["--silent", "--include", ...flags.split(" ")] });
    const { stdout } = await curl.output();
    match(new TextDecoder().decode(stdout), /^HTTP\/1\.1 503 /);
    await eventually("address in the status", async () => {
      const text = await cluster.kubectl(["get", "ingress", "web", "--output=yaml"]);
      return text.includes(`ip: ${cluster.nodeAddress}`);
    });

    const removed = await deployTask(cluster, "undeploy", ["--yes"]);
    deepEqual([removed?.code, removed?.stderr], [0, ""]);
    match(removed!.stdout, /^Nothing of Pingress is left\.$/m);
    const left = await cluster.kubectl(["get", OURS, "--output=name"]);
    deepEqual(left.split("\n").filter((name) => name.includes("pingress")), []);
    equal(await cluster.get("v1", "Namespace", NAMESPACE), null);
    const ingress = await cluster.kubectl(["get", "ingress", "web", "--output=yaml"]);
    match(ingress, /status:\n {2}loadBalancer: \{\}/);
  });
});
