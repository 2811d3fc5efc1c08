/** A renewed certificate changes what a translation of all objects anew would change. */
import assert from "node:assert/strict";
import { serialiseSnapshot } from "../../../shared/snapshot/serialise.ts";
import type { Snapshot } from "../../../shared/snapshot/types.ts";
import { ingress, randomNumbers, secret, service } from "../../../tests/support/rich_cluster.ts";
import { stableText } from "../../base/json.ts";
import { ObjectIndex } from "../../base/identity.ts";
import type { Ingress, KubeSecret, Resources } from "../../kube/resources.ts";
import { ObjectReaders } from "../memory.ts";
import { type TranslateOptions, type Translation, Translator } from "../translator.ts";
import { readSecret } from "./certificate_source.ts";
import { TRANSLATE_OPTIONS } from "../../../tests/support/translate_options.ts";

const OPTIONS: TranslateOptions = {
  ...TRANSLATE_OPTIONS,
  watchIngressWithoutClass: true,
  version: { epoch: "file", seen: {} },
};
const NOW = Date.parse("2030-01-01T00:00:00Z");
const NAMESPACES = ["team-a", "team-b"];
const HOSTS = [
  "app.example.com",
  "a.example.com",
  "b.example.com",
  "c.example.com",
  "*.example.com",
];
const CERTIFICATES = ["app", "renewed", "two", "wildcard"];
const SECRETS = 5;

const random = randomNumbers(18);
const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)];

/** @param spread How many hosts there are beside those that certificates name: few make conflicts. */
function randomIngress(i: number, spread: number): Ingress {
  const namespace = pick(NAMESPACES);
  const host = random() < spread ? `only-${i}.example.com` : pick(HOSTS);
  const tls = Array.from({ length: random() < 0.7 ? 1 : 2 }, () => ({
    ...(random() < 0.1 * (1 - spread) ? {} : {
      hosts: random() < spread ? [host] : random() < 0.5 ? [pick(HOSTS)] : [host, pick(HOSTS)],
    }),
    secretName: `tls-${Math.floor(random() * SECRETS)}`,
  }));
  const at = `2029-01-${String(i + 1).padStart(2, "0")}T00:00:00Z`;
  // Of any host, the hosts of entries depend on who owns wildcards.
  const rule = random() < 0.2 * (1 - spread) ? undefined : host;
  return ingress(`web-${i}`, namespace, [rule, "/", "web"], { tls, at });
}

function randomSecret(namespace: string, i: number): KubeSecret {
  const made = secret(`tls-${i}`, namespace, pick(CERTIFICATES));
  return random() < 0.15 ? { ...made, data: {} } : made;
}

function textOf({ snapshot, problems, statuses }: Translation): string {
  return [
    serialiseSnapshot(snapshot, { revealKeys: false }),
    stableText(problems),
    stableText(statuses),
  ]
    .join("\n");
}

/** Shared by new translators: to read a Secret takes a hundred times as long as the rest. */
const secrets = new ObjectIndex(readSecret);

for (
  const [spread, what] of [[0, "entries share"], [0.6, "entries share or have alone"], [
    1,
    "entries have alone",
  ]] as const
) {
  Deno.test(`Secrets change one by one, of hosts that ${what}`, () => {
    for (let round = 0; round < 6; round++) {
      let resources: Resources = {
        ingresses: Array.from({ length: 12 }, (_, i) => randomIngress(i, spread)),
        ingressClasses: [],
        services: NAMESPACES.map((namespace) => service("web", namespace)),
        endpointSlices: [],
        secrets: NAMESPACES.flatMap((namespace) =>
          Array.from({ length: SECRETS }, (_, i) => randomSecret(namespace, i))
        ),
      };
      const translator = new Translator({ ...new ObjectReaders(), secrets });
      let published: Snapshot | null = null;
      for (let step = 0; step < 60; step++) {
        const made = translator.translate(resources, published, OPTIONS, () => NOW);
        const anew = new Translator({ ...new ObjectReaders(), secrets });
        assert.equal(
          textOf(made),
          textOf(anew.translate(resources, published, OPTIONS, () => NOW)),
        );
        if (step % 3 === 0) published = made.snapshot;
        resources = random() < 0.1
          ? withIngress(resources, Math.floor(random() * 12), spread)
          : withSecret(resources, Math.floor(random() * resources.secrets.length));
      }
    }
  });
}

function withIngress(resources: Resources, i: number, spread: number): Resources {
  return { ...resources, ingresses: resources.ingresses.with(i, randomIngress(i, spread)) };
}

function withSecret(resources: Resources, i: number): Resources {
  const namespace = NAMESPACES[Math.floor(i / SECRETS)];
  return { ...resources, secrets: resources.secrets.with(i, randomSecret(namespace, i % SECRETS)) };
}
