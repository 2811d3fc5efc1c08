/**
 * What proxy and controller know each other by, replaced under a stream: authorities, certificates and
 * tokens, in seconds in place of months and hours. The proxy is a process, the API server is real.
 */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { sign } from "node:crypto";
import { dirname, join } from "node:path";
import { ControllerMetrics } from "../../controller/metrics.ts";
import { SESSION_TIMING, StreamServer } from "../../controller/stream/server.ts";
import {
  AUTHORITY_TIMES,
  type AuthorityTimes,
} from "../../controller/stream/ca/certificate_authority.ts";
import { AuthorityKeeper } from "../../controller/stream/ca/keeper.ts";
import { AuthorityServer } from "../../controller/stream/ca/server_certificate.ts";
import type { SessionTiming } from "../../controller/stream/session.ts";
import { proxyAccount, TokenReviews } from "../../controller/stream/token_reviews.ts";
import { KubeClient } from "../../controller/kube/client.ts";
import { loadCredentials } from "../../controller/kube/credentials.ts";
import { systemClock } from "../../shared/clock.ts";
import { createLogger } from "../../shared/log.ts";
import { type LogLine, ProxyProcess } from "../support/proxy_process.ts";
import { seeing } from "../support/stream_scene.ts";
import type { KubeObject } from "./support/api_client.ts";
import type { TestCluster } from "./support/cluster.ts";
import { clusterTest } from "./support/cluster_case.ts";
import { eventually } from "./support/condition.ts";
import { proxyToken } from "./support/stream_scene.ts";
import { NOTHING } from "./support/streamed_proxy.ts";

/** Of a token in s: proxies show the newest every ten, and a busy machine needs some more. */
const LIFE = 24;

interface ControllerOptions {
  readonly times?: AuthorityTimes;
  readonly timing?: Partial<SessionTiming>;
}

/** All of a controller that proxies meet, with times of its own. */
class ShortLived {
  readonly lines: LogLine[] = [];
  /** Of the certificates that were served by. */
  readonly authorities = new Set<string>();
  readonly certificates = new Set<string>();
  readonly server: StreamServer;
  readonly #client: KubeClient;
  readonly #keeper: AuthorityKeeper;
  readonly #presented: AuthorityServer;

  constructor(cluster: TestCluster, namespace: string, { times, timing }: ControllerOptions) {
    const source = { kind: "kubeconfig", file: cluster.kubeconfig, context: null } as const;
    const loaded = loadCredentials(source);
    if (!loaded.ok) throw new Error(loaded.message);
    const client = this.#client = new KubeClient(loaded.credentials);
    const write = (line: string) => void this.lines.push(JSON.parse(line));
    const log = createLogger({ level: "info", format: "json", write });
    const names = ["127.0.0.1"];
    this.#keeper = new AuthorityKeeper({ client, namespace, log, times });
    this.#presented = new AuthorityServer({ client, namespace, names, log, times });
    this.#presented.onChange(() => {
      const { authority, certPem } = this.#presented.current!;
      this.authorities.add(authority);
      this.certificates.add(certPem);
    });
    this.server = new StreamServer({
      address: { hostname: "127.0.0.1", port: 0 },
      certificates: this.#presented,
      reviews: new TokenReviews({
        client,
        account: proxyAccount(namespace),
        allowUnbound: true,
        clock: systemClock,
        limits: { leastLife: 500, badFor: 500 },
      }),
      zoneOf: () => Promise.resolve(null),
      name: "short-lived",
      metrics: new ControllerMetrics(),
      log,
      onClaim: () => {},
      onNews: () => {},
      timing: { ...SESSION_TIMING, ...timing },
    });
  }

  /** As every minute does. */
  async minute(): Promise<void> {
    const { kind } = await this.#keeper.run();
    assert.equal(kind, "again");
    await this.#presented.refresh();
  }

  get ends(): string[] {
    return this.lines
      .filter(({ message }) => message === "Proxy disconnected")
      .map(({ reason }) => String(reason));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server.stop();
    await this.#presented.stop();
    this.#client.close();
  }
}

async function startProxy(
  { server }: ShortLived,
  ca: string,
  token: string,
): Promise<ProxyProcess> {
  return await ProxyProcess.start({
    snapshot: NOTHING,
    args: [
      `--controller=https://127.0.0.1:${server.address.port}`,
      `--controller-ca=${ca}`,
      `--controller-token=${token}`,
      "--workers=1",
    ],
  });
}

async function bundle(cluster: TestCluster, namespace: string): Promise<string> {
  const map = await cluster.get<KubeObject & { data: Record<string, string> }>(
    "v1",
    "ConfigMap",
    "pingress-stream-ca",
    namespace,
  );
  return map!.data["ca.crt"];
}

/** A file as a kubelet replaces it. */
async function replace(file: string, text: string): Promise<void> {
  await Deno.writeTextFile(`${file}.new`, text);
  await Deno.rename(`${file}.new`, file);
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resume) => setTimeout(resume, milliseconds));
}

function failures(proxy: ProxyProcess): unknown[] {
  return proxy.lines
    .filter(({ message }) => message === "No stream from the controller")
    .map(({ reason }) => reason);
}

clusterTest(
  "CAs and certificates change under a reconnecting proxy, without an interruption",
  async (cluster) => {
    const namespace = await cluster.newNamespace("system");
    const times: AuthorityTimes = {
      ...AUTHORITY_TIMES,
      backdate: 2_000,
      // A busy machine may take seconds from one round to the next: what is served by is good for 9 s more
      // when its successor is due, and a CA for 54 s.
      authorityLife: 60_000,
      prepareAfter: 0.1,
      announcement: 4_000,
      servingLife: 12_000,
      renewAfter: 0.25,
    };
    // A new stream, with a handshake, each second or so.
    await using controller = new ShortLived(cluster, namespace, { times, timing: { age: 700 } });
    await controller.server.start();
    await controller.minute();
    controller.server.update(seeing(1));
    const [ca, token] = [
      await cluster.writeFile(await bundle(cluster, namespace)),
      await cluster.writeFile(await proxyToken(cluster, namespace)),
    ];
    await using proxy = await startProxy(controller, ca, token);
    const isOver = () => controller.authorities.size >= 4 && controller.ends.length > 10;
    for (let i = 2; !isOver() && i < 400; i++) {
      await controller.minute();
      await pause(150);
      await replace(ca, await bundle(cluster, namespace));
      controller.server.update(seeing(i, [`h${i}.test`]));
    }
    assert.ok(
      isOver(),
      `${controller.authorities.size} authorities, ${controller.ends.length} streams`,
    );
    assert.ok(controller.certificates.size > 5, `${controller.certificates.size} certificates`);
    await eventually("the newest", () => controller.server.programmed.programmed);
    assert.deepEqual([...new Set(controller.ends)], ["aged"]);
    assert.deepEqual(failures(proxy), []);
  },
);

/** The same token with a short life, or one that is over, as the API server would have signed it. */
async function shorten(cluster: TestCluster, token: string, seconds: number): Promise<string> {
  const [head, payload] = token.split(".");
  const now = Math.floor(Date.now() / 1000);
  const claims = JSON.parse(Buffer.from(payload, "base64url").toString());
  const text = JSON.stringify({ ...claims, iat: now - 100, nbf: now - 100, exp: now + seconds });
  const body = `${head}.${Buffer.from(text).toString("base64url")}`;
  const key = await Deno.readTextFile(join(dirname(cluster.caFile), "accounts.key"));
  return `${body}.${sign("sha256", Buffer.from(body), key).toString("base64url")}`;
}

clusterTest(
  "a stream continues as long as newer tokens arrive, and ends with the last",
  async (cluster) => {
    const namespace = await cluster.newNamespace("system");
    await using controller = new ShortLived(cluster, namespace, {});
    await controller.server.start();
    await controller.minute();
    controller.server.update(seeing(1));
    const granted = await proxyToken(cluster, namespace);
    const [ca, token] = [
      await cluster.writeFile(await bundle(cluster, namespace)),
      await cluster.writeFile(await shorten(cluster, granted, LIFE)),
    ];
    await using proxy = await startProxy(controller, ca, token);
    await eventually("a stream", () => controller.server.programmed.programmed);
    const begun = Date.now();
    while (Date.now() < begun + 2.2 * LIFE * 1000) {
      await replace(token, await shorten(cluster, granted, LIFE));
      await pause(2_000);
      assert.deepEqual(controller.ends, []);
    }
    await eventually("the end", () => controller.ends.length > 0);
    assert.equal(controller.ends[0], "expired");
    // The API server bears clocks that are a minute off.
    await replace(token, await shorten(cluster, granted, -90));
    await eventually(
      "a refusal",
      () => failures(proxy).some((reason) => /401/.test(String(reason))),
    );
    assert.ok(controller.lines.some(({ message }) => message === "A stream request was rejected"));
    assert.equal((await proxy.admin("/readyz")).status, 200);
    await replace(token, await shorten(cluster, granted, LIFE));
    controller.server.update(seeing(2, ["later.test"]));
    await eventually("the next stream", () => controller.server.programmed.programmed);
  },
);
