/**
 * Pingress from zero: a cluster, our own images, `kubectl apply`, and what a visitor outside of the
 * cluster then gets through the host ports of the node; in the end, nothing is left.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { CertificateAuthority } from "../../dev/certificate_authority.ts";
import type { KubeObject } from "../cluster/support/api_client.ts";
import { runPingress } from "../cluster/support/checked_scene.ts";
import { eventually } from "../cluster/support/condition.ts";
import { MANIFESTS } from "../cluster/support/kubectl.ts";
import { buildPingress, NAMESPACE, Pingress } from "./cluster/installation.ts";
import { podProcesses } from "./cluster/leftovers.ts";
import { type NodeCluster, startNodeCluster } from "./cluster/node_cluster.ts";
import { Visitor } from "./cluster/visitor.ts";

const NAME = "Pingress from zero";
const SAMPLE = join(MANIFESTS, "sample", "sample.yaml");
const HOST = "test.example.com";
const GRPC_HOST = "grpc.example.com";

/** What runs in containers of our images. */
const PROGRAM = /program\/(?:proxy|cli-installed)-main\.mjs/;

/** A kubelet may take a minute and a half to bring a change of a file to its pods, in ms. */
const PATIENCE = 150_000;

Deno.test(NAME, async (t) => {
  const cluster = await startNodeCluster(NAME);
  if (cluster === null) return;
  await using _ = cluster;
  await cluster.explain(() => fromZero(cluster, (name, run) => step(t, name, run)));
  // Throws where anything is left on the machine.
  await cluster.end();
});

type Step = (name: string, run: () => Promise<void>) => Promise<void>;

/** A later one is of no use where one has failed. */
async function step(t: Deno.TestContext, name: string, run: () => Promise<void>): Promise<void> {
  const from = performance.now();
  let problem: unknown;
  await t.step(name, async () => {
    try {
      await run();
    } catch (error) {
      problem = error;
      throw error;
    }
  });
  if (problem !== undefined) throw problem;
  console.log(`${name}: ${((performance.now() - from) / 1000).toFixed(1)} s`);
}

async function fromZero(cluster: NodeCluster, step: Step): Promise<void> {
  const pingress = new Pingress(cluster, "HostPort");
  const visitor = new Visitor(cluster.nodeAddress);
  const [first, second] = [
    await CertificateAuthority.create("First"),
    await CertificateAuthority.create("Second"),
  ];
  const found = await traces(cluster);

  await step("images are built", async () => {
    await cluster.buildImage({
      context: join(import.meta.dirname!, "cluster", "sample"),
      tag: "docker.io/library/nginx:latest",
    });
    await buildPingress(cluster);
  });

  await step("the manifests start a controller that becomes ready", async () => {
    await cluster.kubectl(["apply", "--filename", MANIFESTS]);
    await pingress.waitForControllers();
    assert.notDeepEqual(ourProcesses(), []);
  });

  await step(
    "both pods of the sample respond over HTTP, and so does a WebSocket",
    async () => {
      await cluster.kubectl(["apply", "--filename", SAMPLE]);
      await cluster.waitForRollout("Deployment", "sample-nginx", "default");
      await pingress.waitForProxies();
      const pods = new Set<string>();
      await eventually("answers of both pods", async () => {
        const { status, body } = await visitor.get(`${HOST}/`);
        if (status !== 200) return false;
        const account = JSON.parse(body);
        assert.deepEqual([account.scheme, account.host], ["http", HOST]);
        return pods.add(account.pod).size === 2;
      }, PATIENCE);
      const { status } = await visitor.get("other.example.com/");
      assert.equal(status, 404);
      assert.equal(await visitor.echo(`${HOST}/socket`, "hello"), "hello");
    },
  );

  await step("both pods respond over gRPC, one connection after another", async () => {
    await cluster.apply(grpcObjects());
    const pods = new Set<string>();
    await eventually("answers of both pods to gRPC", async () => {
      const url = `${GRPC_HOST}/test.Echo/Say`;
      const answer = await visitor.call(url, "hello").catch(() => null);
      if (answer?.trailers["grpc-status"] !== "0") return false;
      assert.equal(answer.body, "hello");
      return pods.add(String(answer.fields["x-pod"])).size === 2;
    }, PATIENCE);
  });

  await step("the Ingress has the node's address", async () => {
    await eventually("address", async () => {
      const text = await cluster.kubectl(["get", "ingress", "sample-nginx", "--output=wide"]);
      return text.includes(cluster.nodeAddress);
    });
  });

  await step("HTTPS uses the Secret's certificate", async () => {
    await writeCertificate(cluster, first);
    await patchIngress(cluster, { spec: { tls: [{ hosts: [HOST], secretName: "sample" }] } });
    const answer = await eventually("answer over HTTPS", async () => {
      const answer = await visitor.get(`${HOST}/secure`, { ca: first.certificate }).catch(() =>
        null
      );
      return answer?.status === 200 ? answer : null;
    }, PATIENCE);
    const { scheme, path } = JSON.parse(answer.body);
    assert.deepEqual([scheme, path], ["https", "/secure"]);
    assert.equal((await visitor.get(`${HOST}/secure`)).status, 308);
  });

  await step("a WebSocket works over TLS", async () => {
    const ca = first.certificate;
    assert.equal(await visitor.echo(`${HOST}/socket`, "hello again", { ca }), "hello again");
  });

  await step("a new certificate replaces the old one, and no handshake fails", async () => {
    const ca = first.certificate + second.certificate;
    const old = (await visitor.get(`${HOST}/`, { ca })).serial;
    await writeCertificate(cluster, second);
    await eventually("new certificate", async () => {
      const { status, serial } = await visitor.get(`${HOST}/`, { ca });
      assert.equal(status, 200);
      return serial !== old;
    }, PATIENCE);
    await assert.rejects(visitor.get(`${HOST}/`, { ca: first.certificate }));
    assert.equal((await visitor.get(`${HOST}/`, { ca: second.certificate })).status, 200);
  });

  await step("check fails nothing, and status lists the Ingresses and the proxy", async () => {
    const kubeconfig = `--kubeconfig=${cluster.kubeconfig}`;
    const checked = await runPingress(["check", kubeconfig]);
    assert.equal(checked.code, 0, checked.out + checked.err);
    assert.match(checked.out, /\n✔ 1 of 1 connected proxies are in sync\n/);
    assert.match(checked.out, /\n✔ Certificates: 1; .* Secret default\/sample, in \d+ days\n/);
    const { out } = await runPingress(["status", "-n", "default", kubeconfig]);
    assert.match(out, new RegExp(`^sample-nginx +${HOST} +1/1 +\\d+d +– +`, "m"));
    assert.match(out, /^pingress-proxy-server-\w+ +node1 +yes +in sync +\d/m);
  });

  await step(
    "a changed Ingress is served under its new name, and not under the old one",
    async () => {
      const backend = { service: { name: "sample-nginx", port: { name: "http" } } };
      const paths = [{ path: "/new", pathType: "Exact", backend }];
      await patchIngress(cluster, {
        spec: { tls: null, rules: [{ host: "new.example.com", http: { paths } }] },
      });
      await eventually("answer under the new name", async () => {
        return (await visitor.get("new.example.com/new")).status === 200;
      }, PATIENCE);
      assert.equal((await visitor.get("new.example.com/newer")).status, 404);
      await eventually("404 under the old name", async () => {
        return (await visitor.get(`${HOST}/`)).status === 404;
      });
    },
  );

  await step("after the deletion nothing is left", async () => {
    await cluster.kubectl(["delete", "--filename", SAMPLE]);
    await cluster.delete("v1", "Secret", "sample", "default");
    await cluster.delete("v1", "Service", "sample-grpc", "default");
    await cluster.delete("networking.k8s.io/v1", "Ingress", "sample-grpc", "default");
    await pingress.uninstall();
    await eventually(
      "end of the pods",
      async () => (await cluster.pods("default")).length === 0,
      PATIENCE,
    );
    assert.equal(await cluster.get("v1", "Namespace", NAMESPACE), null);
    assert.deepEqual(await traces(cluster), found);
    await assert.rejects(visitor.get(`${HOST}/`));
  });
}

/** A Service of the sample's pods whose port speaks HTTP/2, and its Ingress. */
function grpcObjects(): Partial<KubeObject>[] {
  const backend = { service: { name: "sample-grpc", port: { name: "grpc" } } };
  return [
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "sample-grpc" },
      spec: {
        selector: { app: "sample-nginx" },
        ports: [{ name: "grpc", port: 50051, appProtocol: "kubernetes.io/h2c" }],
      },
    },
    {
      apiVersion: "networking.k8s.io/v1",
      kind: "Ingress",
      metadata: { name: "sample-grpc" },
      spec: {
        ingressClassName: "pingress",
        rules: [{
          host: GRPC_HOST,
          http: { paths: [{ path: "/", pathType: "Prefix", backend }] },
        }],
      },
    },
  ];
}

async function writeCertificate(cluster: NodeCluster, authority: CertificateAuthority) {
  const { chain, key } = await authority.issue({ names: [HOST] });
  const stringData = { "tls.crt": chain, "tls.key": key.reveal() };
  await cluster.apply({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "sample" },
    type: "kubernetes.io/tls",
    stringData,
  });
}

async function patchIngress(cluster: NodeCluster, patch: unknown): Promise<void> {
  const args = [
    "patch",
    "ingress",
    "sample-nginx",
    "--type=merge",
    `--patch=${JSON.stringify(patch)}`,
  ];
  await cluster.kubectl(args);
}

/** Kinds that Pingress makes objects of, wherever these are. */
const KINDS =
  "ns,ds,deploy,pods,svc,cm,secrets,sa,leases,pdb,hpa,roles,rolebindings,clusterroles," +
  "clusterrolebindings,ingressclasses,priorityclasses,ingresses";

/** Command lines of controllers and proxies in pods. */
function ourProcesses(): string[] {
  return podProcesses().filter((line) => PROGRAM.test(line));
}

/** Names of all objects that could be Pingress' own, and processes of its images. */
async function traces(cluster: NodeCluster): Promise<string[]> {
  const format =
    "--output=jsonpath={range .items[*]}{.kind}/{.metadata.namespace}/{.metadata.name} {end}";
  const names = (await cluster.kubectl(["get", KINDS, "--all-namespaces", format])).trim().split(
    " ",
  );
  const processes = ourProcesses();
  const ours = names.filter((name) => /pingress|sample/.test(name));
  return [...ours, ...processes].sort();
}
