/**
 * The real cert-manager on a cluster with a node: pods of challenges run, Services route to them, and
 * Pingress is installed by its manifests. A certificate is issued and renewed under load.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { CertificateAuthority } from "../../../dev/certificate_authority.ts";
import type { KubeObject } from "../../cluster/support/api_client.ts";
import { eventually } from "../../cluster/support/condition.ts";
import { Application, buildApplication } from "../../e2e/cluster/app/application.ts";
import { buildPingress, Pingress } from "../../e2e/cluster/installation.ts";
import { type NodeCluster, startNodeCluster } from "../../e2e/cluster/node_cluster.ts";
import { Visitor } from "../../e2e/cluster/visitor.ts";
import { Load } from "../../e2e/load/load.ts";
import { linesOf, mixedStreams } from "../../e2e/promises/scene.ts";
import { findPrograms } from "../../peers/go_program.ts";
import {
  ACME_SOLVER,
  acmeIssuer,
  CERT_MANAGER,
  CertManager,
  SOLVER_IMAGE,
} from "./cert_manager.ts";
import { PEBBLE, Pebble, PEBBLE_DNS } from "./pebble.ts";

const NAME = "cert-manager under load";
const HOST = "shop.test";
const NAMESPACE = "shop";
const ISSUER = "pebble";
const SECRET = "shop-tls";
const RATE = 50;

/** Renewal is due 10 s after issue. */
const RENEW_BEFORE = "2159h59m50s";

/** Until what was asked for is there, in ms. */
const PATIENCE = 180_000;

Deno.test(NAME, async () => {
  const programs = await findPrograms(NAME, [CERT_MANAGER, ACME_SOLVER, PEBBLE, PEBBLE_DNS]);
  if (programs === null) return;
  const cluster = await startNodeCluster(NAME);
  if (cluster === null) return;
  await using _ = cluster;
  await cluster.explain(() => underLoad(cluster, programs));
  await cluster.end();
});

async function underLoad(cluster: NodeCluster, programs: readonly string[]): Promise<void> {
  const [certManagerProgram, solverProgram, pebbleProgram, dnsProgram] = programs;
  await buildApplication(cluster);
  await buildPingress(cluster);
  await buildSolver(cluster, solverProgram);
  const pingress = new Pingress(cluster, "HostPort");
  await pingress.apply();
  await cluster.create({ apiVersion: "v1", kind: "Namespace", metadata: { name: NAMESPACE } });
  const application = { namespace: NAMESPACE, replicas: 2, host: HOST, tlsSecret: SECRET };
  await Application.start(cluster, application);
  await pingress.waitForControllers();
  await pingress.waitForProxies();

  const address = cluster.nodeAddress;
  const authority = await CertificateAuthority.create("Pebble");
  await using pebble = await Pebble.start({
    programs: [pebbleProgram, dnsProgram],
    authority,
    address,
    validationPort: 80,
  });
  await using certManager = await CertManager.start(cluster, {
    program: certManagerProgram,
    proxy: `${address}:80`,
  });
  const server = { directory: pebble.directory, caPem: authority.certificate };
  const solver = { ingress: { ingressClassName: "pingress" } };
  await cluster.apply(acmeIssuer(ISSUER, server, solver), { namespace: NAMESPACE });
  await annotate(cluster, {
    "cert-manager.io/issuer": ISSUER,
    "cert-manager.io/renew-before": RENEW_BEFORE,
  });
  try {
    await issuedAndRenewed(cluster, pebble);
  } catch (error) {
    throw new Error(`${error}\n${await certManager.tail()}`, { cause: error });
  }
}

async function issuedAndRenewed(cluster: NodeCluster, pebble: Pebble): Promise<void> {
  const address = cluster.nodeAddress;
  const visitor = new Visitor(address);
  await eventually(
    "certificate",
    () =>
      visitor.get(`${HOST}/?id=1`, { ca: pebble.root }).then(
        ({ status }) => status === 200,
        () => false,
      ),
    PATIENCE,
  );
  await using load = await Load.start({
    ...{ address, httpPort: 80, httpsPort: 443, authority: pebble.root },
    streams: mixedStreams(HOST, RATE, { secure: true }),
    handshakes: [{ name: "handshakes", rate: 5, host: HOST, path: "/" }],
  });
  await eventually("a renewed certificate", () => load.certificates.length >= 3, PATIENCE);
  await load.lasts(2_000);
  const { streams } = await load.stop();
  assert.deepEqual(linesOf(load.failures), []);
  const answered = streams.reduce((sum, stream) => sum + stream.answered, 0);
  console.log(
    `${NAME}: ${load.certificates.length} certificates, ${answered} requests, ` +
      `${load.failures.length} failed`,
  );
  assert.ok(answered > 500, `${answered}`);
}

/** What the pods of challenges run. */
async function buildSolver(cluster: NodeCluster, program: string): Promise<void> {
  const context = await Deno.makeTempDir({ prefix: "pingress-solver-" });
  try {
    await Deno.copyFile(program, join(context, "solver"));
    await Deno.writeTextFile(
      join(context, "Dockerfile"),
      'FROM scratch\nCOPY solver /solver\nUSER 65532:65532\nENTRYPOINT ["/solver"]\n',
    );
    await cluster.buildImage({ context, tag: SOLVER_IMAGE });
  } finally {
    await Deno.remove(context, { recursive: true });
  }
}

/** Adds these to the application's Ingress. */
async function annotate(
  cluster: NodeCluster,
  annotations: Readonly<Record<string, string>>,
): Promise<void> {
  await cluster.apply({
    apiVersion: "networking.k8s.io/v1",
    kind: "Ingress",
    metadata: { name: "app", annotations },
  } as Partial<KubeObject>, { namespace: NAMESPACE, fieldManager: "annotations" });
}
