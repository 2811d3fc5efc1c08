/** The authority by which proxies know the controller's stream, against a real API server. */
import { deepEqual, equal, match, notEqual, ok } from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { createServer, get } from "node:https";
import type { AddressInfo } from "node:net";
import type { KubeClient } from "../../controller/kube/client.ts";
import {
  AuthorityScene,
  certificatesIn,
  isTrusted,
  NAME,
  SERVER_NAME,
} from "./support/authority_scene.ts";
import { clusterTest } from "./support/cluster_case.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

clusterTest("a new cluster gets a CA, and every replica serves with it", async (cluster) => {
  using scene = await AuthorityScene.create(cluster);
  const replicas = [scene.replica(), scene.replica()];
  await replicas[0].refresh();
  equal(replicas[0].current, null);
  equal((await scene.keep(scene.leader())).after, MINUTE);
  for (const replica of replicas) await replica.refresh();
  const bundle = await scene.bundle();
  equal(bundle.length, 1);
  for (const { current } of replicas) ok(isTrusted(current!, bundle));
  notEqual(replicas[0].current!.keyPem.reveal(), replicas[1].current!.keyPem.reveal());
  const secret = await scene.get("Secret");
  for (const object of [secret, await scene.get("ConfigMap")]) {
    deepEqual(object?.metadata.labels, {
      "app.kubernetes.io/managed-by": "pingress-controller",
      "app.kubernetes.io/part-of": "pingress",
    });
  }
  // The ConfigMap has no key, and no log line has one.
  const told = [JSON.stringify(await scene.get("ConfigMap")), ...scene.lines].join("\n");
  for (const text of [atob(secret!.data!["next.key"]), replicas[0].current!.keyPem.reveal()]) {
    match(text, /^-----BEGIN PRIVATE KEY-----\n/);
    equal(told.includes(text.split("\n")[1]), false);
  }
});

clusterTest(
  "a client with the CA bundle verifies a replica by its Service's name only",
  async (cluster) => {
    using scene = await AuthorityScene.create(cluster);
    await scene.keep(scene.leader());
    const replica = scene.replica();
    // The clock of this machine, since TLS goes by it.
    scene.clock.advance(Math.max(0, Date.now() - scene.clock.now()));
    await replica.refresh();
    const { certPem, keyPem } = replica.current!;
    const server = createServer(
      { cert: certPem, key: keyPem.reveal() },
      (_, response) => void response.end(),
    );
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
    const { port } = server.address() as AddressInfo;
    const ask = (ca: string, servername: string) =>
      new Promise<string>((done) => {
        const options = { host: "127.0.0.1", port, ca, servername, agent: false };
        get(options, (response) => {
          response.resume().on("end", () => done("answered"));
        }).on("error", () => done("refused"));
      });
    const ca = (await scene.get("ConfigMap"))!.data!["ca.crt"];
    const [other] = [await AuthorityScene.create(cluster)];
    using _ = other;
    await other.keep(other.leader());
    const foreign = (await other.get("ConfigMap"))!.data!["ca.crt"];
    try {
      deepEqual(
        [
          await ask(ca, SERVER_NAME),
          await ask(ca + foreign, SERVER_NAME),
          await ask(ca, "pingress-controller.elsewhere.svc"),
          await ask(foreign, SERVER_NAME),
        ],
        ["answered", "answered", "refused", "refused"],
      );
    } finally {
      await new Promise((closed) => server.close(closed));
    }
  },
);

clusterTest("two replicas that both consider themselves leader create one CA", async (cluster) => {
  for (let round = 0; round < 8; round++) {
    using scene = await AuthorityScene.create(cluster);
    const leaders = [scene.leader(), scene.leader(), scene.leader()];
    await Promise.all(leaders.map((leader) => leader.run()));
    const secret = await scene.get("Secret");
    const [authority] = certificatesIn(atob(secret!.data!["next.crt"]));
    deepEqual((await scene.bundle()).map(({ fingerprint }) => fingerprint), [
      authority.fingerprint,
    ]);
    equal(scene.lines.filter((line) => line.includes("has a new CA")).length, 1);
  }
});

clusterTest(
  "during a whole rotation proxies trust every replica, however late each notices it",
  async (cluster) => {
    using scene = await AuthorityScene.create(cluster);
    const { clock } = scene;
    const replicas = { prompt: scene.replica(), late: scene.replica() };
    /** What stood in the ConfigMap, by minutes. */
    const published: (readonly X509Certificate[])[] = [];
    const signers = new Set<string>();
    let leader = scene.leader();

    /** A minute, in which everybody does their part. */
    async function minute(): Promise<void> {
      // What the leader wrote a minute ago.
      await replicas.late.refresh();
      await scene.keep(leader);
      await replicas.prompt.refresh();
      published.push(await scene.bundle());
      const mounted = published.at(-3);
      if (mounted !== undefined) {
        for (const { current } of Object.values(replicas)) {
          for (const trusted of [published.at(-1)!, mounted]) {
            ok(isTrusted(current!, trusted), new Date(clock.now()).toISOString());
          }
          ok(current!.validTo > clock.now());
          const { validFrom, validTo } = new X509Certificate(current!.certPem);
          ok(Date.parse(validFrom) <= clock.now() - 23 * HOUR);
          equal(Date.parse(validTo), current!.validTo);
          signers.add(current!.authority);
        }
      }
      clock.advance(MINUTE);
    }

    async function minutes(count: number): Promise<void> {
      for (let i = 0; i < count; i++) await minute();
    }

    await minutes(65);
    for (let days = 0; days < 250; days += 3) {
      clock.advance(3 * DAY);
      // Another one leads, who knows nothing but what is stored.
      leader = scene.leader();
      await minutes(3);
      if ((await scene.bundle()).length > 1) break;
    }
    equal((await scene.bundle()).length, 2);
    equal(signers.size, 1);
    await minutes(62);
    equal(signers.size, 2);
    for (let days = 0; days < 9; days += 3) {
      clock.advance(3 * DAY);
      await minutes(3);
    }
    equal((await scene.bundle()).length, 1);
  },
);

clusterTest("a deleted Secret is recreated, and replicas stay trusted", async (cluster) => {
  using scene = await AuthorityScene.create(cluster);
  const leader = scene.leader();
  const replica = scene.replica();
  await scene.keep(leader);
  scene.clock.advance(HOUR);
  await scene.keep(leader);
  await replica.refresh();
  const before = replica.current!;
  await scene.remove("Secret");
  await scene.keep(leader);
  equal((await scene.bundle()).length, 2);
  await replica.refresh();
  equal(replica.current, before);
  ok(isTrusted(before, await scene.bundle()));
  scene.clock.advance(HOUR);
  await scene.keep(leader);
  await replica.refresh();
  notEqual(replica.current!.authority, before.authority);
  ok(isTrusted(replica.current!, await scene.bundle()));
});

clusterTest(
  "a ConfigMap that is deleted or changed is restored within a minute",
  async (cluster) => {
    using scene = await AuthorityScene.create(cluster);
    const leader = scene.leader();
    await scene.keep(leader);
    const { data } = (await scene.get("ConfigMap"))!;
    await scene.remove("ConfigMap");
    await scene.keep(leader);
    deepEqual((await scene.get("ConfigMap"))!.data, data);
    for (const text of ["", "nonsense", `${data!["ca.crt"]}nonsense`]) {
      await cluster.apply({
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name: NAME, namespace: scene.namespace },
        data: { "ca.crt": text },
      });
      await scene.keep(leader);
      deepEqual((await scene.get("ConfigMap"))!.data, data);
    }
  },
);

const BROKEN: Readonly<Record<string, (data: Record<string, string>) => Record<string, string>>> = {
  "no text in PEM": (data) => ({ ...data, "signer.key": btoa("nonsense") }),
  "another's key": (data) => ({ ...data, "signer.key": data["other.key"] }),
  "half a certificate": (data) => ({
    ...data,
    "signer.crt": btoa(atob(data["signer.crt"]).slice(0, 200)),
  }),
  "a server's certificate": (data) => ({
    ...data,
    "signer.crt": data["leaf.crt"],
    "signer.key": data["leaf.key"],
  }),
};

for (const [name, spoil] of Object.entries(BROKEN)) {
  clusterTest(`a Secret with ${name} is reported, and gets a new CA`, async (cluster) => {
    using scene = await AuthorityScene.create(cluster);
    using elsewhere = await AuthorityScene.create(cluster);
    await elsewhere.keep(elsewhere.leader());
    const other = (await elsewhere.get("Secret"))!.data!;
    const leader = scene.leader();
    const replica = scene.replica();
    await scene.keep(leader);
    scene.clock.advance(HOUR);
    await scene.keep(leader);
    await replica.refresh();
    const before = replica.current!;
    const { data } = (await scene.get("Secret"))!;
    const spoilt = spoil({
      ...data,
      "other.key": other["next.key"],
      "leaf.crt": btoa(before.certPem),
      "leaf.key": btoa(before.keyPem.reveal()),
    });
    await cluster.apply({
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: NAME, namespace: scene.namespace },
      data: { "signer.crt": spoilt["signer.crt"], "signer.key": spoilt["signer.key"] },
    });
    await replica.refresh();
    equal(replica.current, before, "what cannot be read changes nothing");
    await scene.keep(leader);
    const told = scene.lines.filter((line) =>
      line.includes("The Secret with the stream's CA is invalid")
    );
    equal(told.length, 1);
    equal(told[0].includes("PRIVATE"), false);
    await replica.refresh();
    equal(replica.current, before);
    ok(isTrusted(before, await scene.bundle()));
    scene.clock.advance(HOUR);
    await scene.keep(leader);
    await replica.refresh();
    notEqual(replica.current!.authority, before.authority);
    ok(isTrusted(replica.current!, await scene.bundle()));
  });
}

clusterTest(
  "a Secret created by somebody else is used, and keeps its other data",
  async (cluster) => {
    using scene = await AuthorityScene.create(cluster);
    await cluster.apply({
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: NAME, namespace: scene.namespace, labels: { mine: "yes" } },
      type: "kubernetes.io/tls",
      data: { "tls.crt": btoa("mine"), "tls.key": btoa("mine") },
    });
    await scene.keep(scene.leader());
    const secret = await scene.get("Secret");
    deepEqual([secret?.type, secret?.metadata.labels?.mine], ["kubernetes.io/tls", "yes"]);
    ok(secret?.data?.["next.key"] !== undefined);
  },
);

clusterTest(
  "keys also set by others are removed once unused, and other data stays",
  async (cluster) => {
    using scene = await AuthorityScene.create(cluster);
    const leader = scene.leader();
    await scene.keep(leader);
    const first = (await scene.get("Secret"))!.data!;
    const metadata = { name: NAME, namespace: scene.namespace };
    const theirs = { notes: btoa("mine") };
    // As by `kubectl apply --server-side` of what `kubectl get` has shown.
    await cluster.apply({
      apiVersion: "v1",
      kind: "Secret",
      metadata,
      data: { ...first, ...theirs },
    });
    scene.clock.advance(HOUR);
    equal((await scene.keep(leader)).after, MINUTE);
    const promoted = (await scene.get("Secret"))!.data!;
    deepEqual(
      Object.keys(promoted).sort(),
      ["notes", "retired.crt", "rotation.json", "signer.crt", "signer.key"],
    );
    equal(promoted["signer.key"], first["next.key"]);
    equal((await scene.bundle()).length, 1);
    // One that ended before it could take them away.
    await cluster.apply({
      apiVersion: "v1",
      kind: "Secret",
      metadata,
      data: { ...theirs, "next.crt": first["next.crt"], "next.key": first["next.key"] },
    });
    await scene.keep(scene.leader());
    const { data } = (await scene.get("Secret"))!;
    deepEqual(data, promoted);
  },
);

clusterTest("a Secret that cannot be changed is a problem with a remedy", async (cluster) => {
  for (const kind of ["Secret", "ConfigMap"] as const) {
    using scene = await AuthorityScene.create(cluster);
    const { namespace } = scene;
    const metadata = { name: NAME, namespace };
    await cluster.apply({ apiVersion: "v1", kind, metadata, immutable: true, data: {} });
    const leader = scene.leader();
    equal((await leader.run()).kind, "failed");
    const [problem, ...others] = leader.problems;
    deepEqual([problem.reason, others], ["StreamCaNotStored", []]);
    ok(problem.message.startsWith(`${kind} ${namespace}/${NAME} cannot be kept`));
    match(problem.remedy, /^delete the object/);
    await scene.remove(kind);
    await scene.keep(leader);
    deepEqual(leader.problems, []);
  }
});

clusterTest("a leader may stop at any call: the next one completes its work", async (cluster) => {
  for (let calls = 1; calls <= 8; calls++) {
    using scene = await AuthorityScene.create(cluster);
    let left = calls;
    const refused = {
      ok: false,
      error: { code: 0, reason: "NotLeading", message: "no more", retryAfter: null },
    } as const;
    const { client } = scene;
    const mortal: Pick<KubeClient, "get" | "apply" | "patch"> = {
      get: (...args) => left-- > 0 ? client.get(...args) : Promise.resolve(refused),
      apply: (...args) => left-- > 0 ? client.apply(...args) : Promise.resolve(refused),
      patch: (...args) => left-- > 0 ? client.patch(...args) : Promise.resolve(refused),
    };
    const outcome = await scene.leader(mortal).run();
    equal(outcome.kind, "idle", String(calls));
    const made = (await scene.get("Secret"))?.data?.["next.crt"];
    await scene.keep(scene.leader());
    const { data } = (await scene.get("Secret"))!;
    if (made !== undefined) equal(data!["next.crt"], made);
    equal((await scene.bundle()).length, 1);
  }
});

clusterTest(
  "a replica serves as soon as there is a CA, and stops on request",
  async (cluster) => {
    using scene = await AuthorityScene.create(cluster);
    const replica = scene.replica();
    const changed = new Promise<void>((resolve) => replica.onChange(resolve));
    replica.start();
    await scene.keep(scene.leader());
    await changed;
    ok(isTrusted(replica.current!, await scene.bundle()));
    await replica.stop();
  },
);
