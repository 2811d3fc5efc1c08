/** `pingress check` and `pingress status` with a real API server, real controllers and a real proxy. */
import { deepEqual, doesNotMatch, equal, match, notEqual, ok } from "node:assert/strict";
import { GATEWAY_API } from "../../controller/kube/types.ts";
import type { KubeObject } from "./support/api_client.ts";
import { CheckedScene, CONTROLLER, runPingress } from "./support/checked_scene.ts";
import type { TestCluster } from "./support/cluster.ts";
import { clusterTest } from "./support/cluster_case.ts";
import { eventually } from "./support/condition.ts";
import { gatewayCrd, installCrd } from "./support/gateway_crds.ts";

interface CheckJson {
  readonly v: number;
  readonly groups: readonly {
    readonly id: string;
    readonly results: readonly {
      readonly id: string;
      readonly level: string;
      readonly message: string;
      readonly remedy: string | null;
    }[];
  }[];
  readonly counts: Readonly<Record<string, number>>;
}

interface StatusJson {
  readonly served: readonly {
    readonly kind: string;
    readonly namespace: string;
    readonly name: string;
    readonly backends: { readonly ready: number; readonly total: number };
    readonly certificate: { readonly days: number | null; readonly missing: boolean } | null;
    readonly problems: readonly { readonly reason: string }[];
  }[];
  readonly proxies: readonly {
    readonly name: string;
    readonly inSync: boolean | null;
    readonly reason: string | null;
  }[];
  readonly controllers: readonly { readonly name: string; readonly leads: boolean }[];
  readonly unread: readonly { readonly message: string; readonly remedy: string }[];
}

async function checked(
  scene: CheckedScene,
  kubeconfig = scene.kubeconfig,
): Promise<CheckJson & { readonly code: number }> {
  const { code, out, err } = await scene.run(["check", "-o", "json"], { kubeconfig });
  if (out === "") throw new Error(err);
  return { code, ...JSON.parse(out) };
}

async function shown(
  scene: CheckedScene,
  kubeconfig = scene.kubeconfig,
): Promise<StatusJson & { readonly code: number }> {
  const { code, out, err } = await scene.run(["status", "-A", "-o", "json"], { kubeconfig });
  if (out === "") throw new Error(err);
  return { code, ...JSON.parse(out) };
}

const READS_ROLES = {
  apiGroups: ["rbac.authorization.k8s.io"],
  resources: ["clusterroles", "clusterrolebindings", "roles", "rolebindings"],
  verbs: ["get", "list"],
};

/** `level id: message`, of what is neither fine nor skipped. */
function findings({ groups }: CheckJson): readonly string[] {
  return groups.flatMap(({ results }) =>
    results.filter(({ level }) => level === "failed" || level === "warning")
      .map(({ level, id, message }) => `${level} ${id}: ${message}`)
  );
}

/** Waits until check says so. */
async function found(scene: CheckedScene, wanted: RegExp): Promise<CheckJson & { code: number }> {
  let last: readonly string[] = [];
  return await eventually(`check says ${wanted}`, async () => {
    const result = await checked(scene);
    last = findings(result);
    return last.some((line) => wanted.test(line)) ? result : null;
  }).catch((error) => {
    throw new Error(`${error.message}; it says ${JSON.stringify(last, null, 2)}`);
  });
}

function rowOf({ served }: StatusJson, name: string) {
  const row = served.find((one) => one.name === name);
  ok(row !== undefined, name);
  return row;
}

clusterTest(
  "check and status name the problems of an installation",
  async (cluster, context) => {
    await using scene = await CheckedScene.start(cluster);
    const { app, system } = { app: scene.scene.app, system: scene.system };

    await context.step("of a sound one, check fails nothing, and status lists it", async () => {
      const result = await checked(scene);
      deepEqual(findings(result).filter((line) => line.startsWith("failed")), []);
      equal(result.code, 0);
      equal(result.v, 1);
      const fine = result.groups.flatMap(({ results }) => results)
        .filter(({ level }) => level === "ok").map(({ id }) => id);
      for (
        const id of ["api-version", "user-rights", "controller-rights", "leader", "stream"]
      ) ok(fine.includes(id), `${id} in ${fine}`);
      const status = await shown(scene);
      equal(status.code, 0);
      const { backends, problems, certificate } = rowOf(status, "web");
      deepEqual([backends.ready, backends.total, problems, certificate], [1, 1, [], null]);
      deepEqual(status.proxies.map(({ name, inSync }) => [name, inSync]), [["proxy-1", true]]);
      equal(status.controllers.filter(({ leads }) => leads).length, 1);
      deepEqual(status.unread, []);
      ok(scene.kubelet.forwarder.forwarded.length > 0);
    });

    await context.step("text says the same as JSON, and colours need a terminal", async () => {
      const { code, out } = await scene.run(["check"]);
      equal(code, 0);
      match(out, /^Kubernetes API\n✔ The API server at /);
      match(out, /\n✔ 1 of 1 connected proxies are in sync\n/);
      // deno-lint-ignore no-control-regex
      doesNotMatch(out, /\x1b/);
      const { out: table } = await scene.run(["status", "-n", app]);
      match(table, /^NAME +HOSTS +BACKENDS +CERT +PROBLEMS +ADDRESS\n/);
      match(table, /\nweb +web\.example\.com +1\/1 +–/);
      const { out: all } = await scene.run(["status", "-A"]);
      match(all, new RegExp(`\n${app}/web +web\\.example\\.com +1/1 +–`));
      match(table, /\nproxy-1 +\S+ +yes +in sync +\d/);
    });

    await context.step("a namespace that does not exist is named", async () => {
      const { code, out } = await scene.run(["status", "-n", `${app}x`]);
      equal(code, 2);
      equal(out.split("\n")[0], `There is no namespace ${app}x; did you mean ${app}?`);
    });

    await context.step("status --watch shows an Ingress that comes and one that goes", async () => {
      await using watching = await scene.watch(["status", "-n", app, "-w"]);
      await watching.until((text) => text.includes("web.example.com"));
      await scene.scene.ingress("late");
      await watching.until((text) => text.includes("late.example.com"));
      await scene.scene.remove("Ingress", "late");
      await watching.until((text) => !text.slice(text.lastIndexOf("NAME ")).includes("late"));
    });

    await context.step(
      "a user without a right is told which, and the rest is checked",
      async () => {
        const kubeconfig = await scene.userKubeconfig("limited", (role) => ({
          ...role,
          rules: role.rules.filter(({ resources }) => !resources.includes("pods/portforward")),
        }));
        const result = await eventually("rights", async () => {
          const result = await checked(scene, kubeconfig);
          return result.groups.some(({ id }) => id === "workload") ? result : null;
        });
        equal(result.code, 0);
        match(
          findings(result).join("\n"),
          /warning user-rights: you may not get and create pods\/portforward in namespace /,
        );
        const stream = result.groups.find(({ id }) => id === "stream")!.results[0];
        equal(stream.level, "skipped");
        match(stream.remedy!, /^Allow the verbs get and create on pods\/portforward in namespace /);
        const status = await shown(scene, kubeconfig);
        equal(rowOf(status, "web").backends.ready, 1);
        equal(status.proxies[0].inSync, null);
        match(status.unread.map(({ remedy }) => remedy).join("\n"), /pods\/portforward/);
      },
    );

    await context.step("a user without any right does not pass", async () => {
      const token = await cluster.serviceAccountToken(system, "nobody");
      const kubeconfig = await cluster.writeFile(cluster.kubeconfigFor(token));
      const { code } = await checked(scene, kubeconfig);
      equal(code, 2);
      equal((await shown(scene, kubeconfig)).code, 2);
    });

    await context.step(
      "where reviews are denied, the controller's rights are read from roles",
      async () => {
        const kubeconfig = await scene.userKubeconfig("auditor", (role) => ({
          ...role,
          rules: [
            ...role.rules.filter(({ resources }) => !resources.includes("subjectaccessreviews")),
            ...(role.kind === "ClusterRole" ? [READS_ROLES] : []),
          ],
        }));
        await eventually("rights of roles", async () => {
          const { groups } = await checked(scene, kubeconfig);
          return groups.flatMap(({ results }) => results).some(({ id, level }) =>
            id === "controller-rights" && level === "ok"
          );
        });
      },
    );

    await context.step("a missing Secret", async () => {
      await scene.scene.ingress("secure", {
        tls: [{ hosts: ["secure.example.com"], secretName: "gone" }],
      });
      await found(scene, /problems: SecretNotFound: .*Ingress \S+\/secure/);
      const { certificate, problems } = rowOf(await shown(scene), "secure");
      equal(certificate?.missing, true);
      match(JSON.stringify(problems), /SecretNotFound/);
    });

    await context.step("an expired certificate", async () => {
      const { chain, key } = await cluster.authority.issue({
        names: ["secure.example.com"],
        validTo: Date.now() - 24 * 60 * 60 * 1000,
      });
      await scene.scene.tlsSecret("gone", { "tls.crt": chain, "tls.key": key.reveal() });
      const { code } = await found(
        scene,
        new RegExp(`failed certificates: the certificate of Secret ${app}/gone has expired on`),
      );
      equal(code, 1);
      ok(rowOf(await shown(scene), "secure").certificate!.days! < 0);
      await scene.scene.remove("Ingress", "secure");
    });

    await context.step("no class", async () => {
      await cluster.delete("networking.k8s.io/v1", "IngressClass", "pingress");
      const { code } = await found(scene, /failed class: there is no IngressClass of Pingress/);
      equal(code, 1);
    });

    await context.step("missing CRDs", async () => {
      await installCrd(cluster, gatewayCrd("Gateway", ["v1"]));
      const { code } = await found(
        scene,
        new RegExp(
          `failed gateway-crds: CRDs .* missing: gatewayclasses\\.${GATEWAY_API}, httproutes`,
        ),
      );
      equal(code, 1);
    });

    await context.step("a workload that is not ready", async () => {
      await scene.daemonSet(2, 1);
      await found(scene, /warning proxies: 1 of 2 proxies are ready/);
      await scene.daemonSet(1, 1);
    });

    await context.step("a controller without its rights", async () => {
      await scene.withdrawRights();
      const { code } = await found(
        scene,
        /failed controller-rights: the controller's account may not list and watch ingresses\.networking/,
      );
      equal(code, 1);
    });

    await context.step("a proxy that is behind", async () => {
      await scene.scene.ingress("a");
      await scene.scene.ingress("b");
      await eventually("three routes", async () => {
        const { text } = await scene.proxies.get("proxy-1")!.admin("/snapshot");
        return text.includes("b.example.com");
      });
      await scene.scene.remove("Ingress", "a");
      await scene.scene.remove("Ingress", "b");
      const { code } = await found(
        scene,
        /failed stream: proxy proxy-1 is behind the controller: it rejects the configuration \(loss\)/,
      );
      equal(code, 1);
      const [proxy] = (await shown(scene)).proxies;
      equal(proxy.inSync, false);
      match(proxy.reason!, /rejects the configuration \(loss\)/);
    });

    await context.step("an old version of the controller", async () => {
      await using old = await startOldController();
      await scene.pod("controller-old", CONTROLLER, old.port);
      await found(
        scene,
        /warning stream: replica controller-old is of a version without the page \/proxies/,
      );
      await cluster.delete("v1", "Pod", "controller-old", system);
    });

    await context.step("a lost leader", async () => {
      for (const [name, controller] of scene.controllers) {
        await controller.kill();
        await scene.ready(name, false);
      }
      await scene.deployment(2, 0);
      const result = await found(
        scene,
        /failed leader: the leader controller-[ab] has not renewed its Lease for \d+ s/,
      );
      equal(result.code, 1);
      match(findings(result).join("\n"), /failed controller: 0 of 2 replicas/);
      deepEqual((await shown(scene)).controllers.filter(({ leads }) => leads), []);
    });

    await context.step("an API server that stalls", async () => {
      cluster.pause();
      try {
        const { code, out } = await scene.run(["check", "--timeout=1s"]);
        equal(code, 1);
        match(out, /✘ .* cannot be used: the API server did not answer within 1 s/);
        const status = await scene.run(["status", "-A", "--timeout=1s"]);
        equal(status.code, 2);
        match(status.out, /did not answer within 1 s/);
      } finally {
        cluster.resume();
      }
    });
  },
);

clusterTest("a cluster without Pingress is told from a broken one", async (cluster) => {
  const { code, out } = await runPingress([
    "check",
    `--kubeconfig=${cluster.kubeconfig}`,
    "--system-namespace=nowhere",
  ]);
  equal(code, 1);
  match(out, /✘ Pingress is not installed in namespace nowhere/);
});

clusterTest(
  "a kubeconfig that cannot be used ends check and status with one sentence",
  async (cluster) => {
    const expired = await cluster.writeFile(cluster.kubeconfigFor("not-a-token"));
    const refused = await runPingress(["check", `--kubeconfig=${expired}`]);
    equal(refused.code, 1);
    match(refused.out, /the API server does not accept the credentials of the kubeconfig/);
    match(refused.out, /Renew the token or certificate of the context's user/);
    for (
      const [args, message] of [
        [["--kubeconfig=/nowhere/config"], /kubeconfig \/nowhere\/config cannot be read/],
        [[`--kubeconfig=${cluster.kubeconfig}`, "--context=other"], /it has no context "other"/],
      ] as const
    ) {
      for (const command of ["check", "status"]) {
        const { code, out, err } = await runPingress([command, ...args]);
        equal(code, 2, err);
        equal(out, "");
        match(err, message);
      }
    }
  },
);

clusterTest("hundreds of Ingresses are read in pages", async (cluster) => {
  const namespace = await cluster.newNamespace();
  const COUNT = 620;
  await makeIngresses(cluster, namespace, COUNT);
  const { out, code, err } = await runPingress([
    ...["status", "-n", namespace, "-o", "json"],
    `--kubeconfig=${cluster.kubeconfig}`,
  ]);
  notEqual(out, "", err);
  equal(code, 0);
  equal((JSON.parse(out) as StatusJson).served.length, COUNT);
});

async function makeIngresses(
  cluster: TestCluster,
  namespace: string,
  count: number,
): Promise<void> {
  const names = Array.from({ length: count }, (_, i) => `ingress-${i}`);
  for (let i = 0; i < count; i += 20) {
    await Promise.all(
      names.slice(i, i + 20).map((name) =>
        cluster.create({
          apiVersion: "networking.k8s.io/v1",
          kind: "Ingress",
          metadata: { name },
          spec: {
            ingressClassName: "pingress",
            defaultBackend: { service: { name: "web", port: { number: 80 } } },
          },
        } as unknown as KubeObject, namespace)
      ),
    );
  }
}

/** Which has an admin port without the pages of today. */
async function startOldController() {
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    (request) =>
      new URL(request.url).pathname === "/metrics"
        ? new Response("up 1\n")
        : new Response("Not found\n", { status: 404 }),
  );
  await Promise.resolve();
  return {
    port: server.addr.port,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}
