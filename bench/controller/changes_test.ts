import assert from "node:assert/strict";
import { CertificateAuthority } from "../../dev/certificate_authority.ts";
import { largeCluster } from "../../tests/support/large_cluster.ts";
import { CHANGED_KINDS, changeOf } from "./changes.ts";
import type { Population } from "./population.ts";

async function small(): Promise<Population> {
  const size = { ingresses: 12, namespaces: 2, services: 4, endpoints: 8, certificates: 4 };
  const { resources } = await largeCluster(size);
  return { resources, authority: await CertificateAuthority.create("test") };
}

Deno.test("each change has its own mark", async () => {
  const population = await small();
  const changes = await Promise.all(
    CHANGED_KINDS.flatMap((kind) => [0, 1, 2, 3].map((round) => changeOf(kind, population, round))),
  );
  assert.equal(new Set(changes.map(({ mark }) => mark)).size, changes.length);
  const resources = JSON.stringify(population.resources);
  for (const { mark } of changes) assert.ok(!resources.includes(mark), mark);
});

Deno.test("a changed EndpointSlice has as many endpoints as before", async () => {
  const population = await small();
  const { patch, mark } = await changeOf("EndpointSlice", population, 3);
  const { endpoints } = patch as { readonly endpoints: readonly unknown[] };
  assert.equal(endpoints.length, 2);
  assert.equal(mark, '"address":"10.250.0.3"');
});

Deno.test("the mark of a renewed certificate is a line of its PEM", async () => {
  const { patch, mark } = await changeOf("Secret", await small(), 0);
  const { data } = patch as { readonly data: Readonly<Record<string, string>> };
  const lines = atob(data["tls.crt"]).split("\n");
  assert.equal(mark.length, 64);
  assert.equal(lines.filter((line) => line === mark).length, 1);
});
