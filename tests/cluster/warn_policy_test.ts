/**
 * What overlays/warn makes the API server say of annotations of ingress-nginx. The same values as the
 * controller sees decide, with the profile of the class: a warning that paths return 503 and a refusal go
 * together.
 */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { dirname, join } from "node:path";
import { NginxAnnotations } from "../../controller/translate/annotations/nginx/nginx_annotations.ts";
import { readCertificateRefusals } from "../../controller/translate/annotations/nginx/access.ts";
import { refuseGlobalAuth } from "../../controller/translate/annotations/nginx/external.ts";
import { readRefusals } from "../../controller/translate/annotations/nginx/refusals.ts";
import {
  BY_NAME,
  isHonoured,
  NGINX_PREFIX,
} from "../../controller/translate/annotations/nginx/table.ts";
import type { TestCluster } from "./support/cluster.ts";
import { clusterTest } from "./support/cluster_case.ts";
import { eventually } from "./support/condition.ts";
import { kubectl, MANIFESTS } from "./support/kubectl.ts";

const OVERLAY = join(dirname(MANIFESTS), "overlays", "warn");

type Values = Readonly<Record<string, string>>;

interface Placed {
  /** Null for none. */
  readonly className?: string | null;
  /** The class that the annotation kubernetes.io/ingress.class names. */
  readonly annotated?: string;
  readonly path?: string;
  readonly tls?: readonly string[];
}

/** Installed once; null where there is no kubectl. */
let installed: Promise<boolean> | null = null;

async function installPolicy(cluster: TestCluster): Promise<boolean> {
  const applied = await kubectl(cluster, ["apply", "-k", OVERLAY]);
  if (applied === null) {
    console.log("skipped: kubectl is not among the programs");
    return false;
  }
  equal(applied.code, 0, applied.stderr);
  // An expression that does not compile, or compares what cannot be compared.
  ok(!/warning/i.test(applied.stderr), applied.stderr);
  for (const [name, controller, annotations] of CLASSES) {
    await createClass(cluster, name, controller, annotations);
  }
  await eventually(
    "the policy is active",
    async () => (await warningsOf(cluster, { "configuration-snippet": "return 204;" })).length > 0,
  );
  return true;
}

const OURS = "pingress.io/ingress-controller";
const NGINX = "k8s.io/ingress-nginx";

const IN_PROFILE = "warn-profile";

/** IngressClasses; the last two warn of nothing. */
const CLASSES: readonly (readonly [name: string, controller: string, annotations: Values])[] = [
  ["pingress", OURS, {}],
  ["warn-old", "networking.kinorca.com/pingress-controller", {}],
  [IN_PROFILE, OURS, { "pingress.io/profile": "nginx" }],
  ["warn-taken-over", NGINX, { "pingress.io/status": "on" }],
  ["warn-nginx", NGINX, { "example.com/x": "y" }],
  ["warn-other", "example.com/controller", {}],
];

async function createClass(
  cluster: TestCluster,
  name: string,
  controller: string,
  annotations: Values,
): Promise<void> {
  const metadata = { name, annotations };
  const object = {
    apiVersion: "networking.k8s.io/v1",
    kind: "IngressClass",
    metadata,
    spec: { controller },
  };
  const applied = (await kubectl(cluster, ["apply", "--filename=-"], JSON.stringify(object)))!;
  equal(applied.code, 0, applied.stderr);
}

function policyTest(name: string, run: (cluster: TestCluster) => Promise<void>): void {
  clusterTest(name, async (cluster) => {
    if (await (installed ??= installPolicy(cluster))) await run(cluster);
  });
}

function specOf({ className = "pingress", path = "/", tls }: Placed) {
  const service = { name: "web", port: { number: 80 } };
  return {
    ...className === null ? {} : { ingressClassName: className },
    ...tls === undefined ? {} : { tls: [{ hosts: tls, secretName: "tls" }] },
    rules: [{
      host: "app.example.com",
      http: { paths: [{ path, pathType: "Prefix", backend: { service } }] },
    }],
  };
}

function prefixed(values: Values): Values {
  return Object.fromEntries(
    Object.entries(values).map(([name, text]) => [NGINX_PREFIX + name, text]),
  );
}

/** What who applies such an Ingress reads; nothing is kept. */
async function warningsOf(
  cluster: TestCluster,
  values: Values,
  placed: Placed = {},
): Promise<string[]> {
  const { annotated } = placed;
  const annotations = {
    ...prefixed(values),
    ...annotated === undefined ? {} : { "kubernetes.io/ingress.class": annotated },
  };
  const metadata = { name: "web", namespace: "default", annotations };
  const ingress = {
    apiVersion: "networking.k8s.io/v1",
    kind: "Ingress",
    metadata,
    spec: specOf(placed),
  };
  const args = ["create", "--dry-run=server", "--validate=false", "--filename=-"];
  const answer = (await kubectl(cluster, args, JSON.stringify(ingress)))!;
  equal(answer.code, 0, answer.stderr);
  return answer.stderr.split("\n").filter((line) => line.includes("pingress-nginx-annotations"));
}

function closes(values: Values, placed: Placed): boolean {
  const annotations = new NginxAnnotations(prefixed(values), specOf(placed));
  const certificates = readCertificateRefusals(annotations, "default");
  const profile = placed.className === IN_PROFILE ? "nginx" : "pingress";
  const login = refuseGlobalAuth(annotations, profile);
  return [...readRefusals(annotations, profile), ...certificates, login ?? []].flat().length > 0;
}

/**
 * Values that the expressions look into, with what stands around them. Whether values of supported annotations
 * are valid is checked by the controller alone.
 */
const CASES: readonly (readonly [values: Values, placed?: Placed])[] = [
  [{ "custom-headers": "default/headers" }],
  [{ "custom-headers": "" }],
  [{ "enable-modsecurity": "False" }],
  [{ "enable-modsecurity": "yes" }],
  [{ "limit-rps": "0" }],
  [{ "limit-rps": "10" }],
  [{ "allowlist-source-range": "0.0.0.0/0, ::/0" }],
  [{ "whitelist-source-range": "0.0.0.0/0,::/0" }],
  [{ "allowlist-source-range": "0.0.0.0/0" }],
  [{ "proxy-ssl-ciphers": "HIGH:!aNULL:!MD5" }],
  [{ "proxy-ssl-ciphers": "DEFAULT" }],
  [{ "proxy-ssl-ciphers": "HIGH:!AESGCM" }],
  [{ "auth-tls-secret": "default/ca" }],
  [{ "auth-tls-secret": "default/ca", "auth-tls-verify-client": "off" }],
  [{ "auth-tls-secret": "default/ca", "auth-tls-verify-client": " off " }],
  [{ "auth-tls-secret": "default/ca", "auth-tls-verify-client": "OFF" }],
  [{ "auth-tls-secret": "default/ca", "auth-tls-verify-client": "off\n" }],
  [{ "auth-tls-secret": "other/ca", "auth-tls-verify-client": "off" }],
  [{ "custom-headers": " \n" }],
  [{ "custom-headers": "default/headers\n" }],
  [{ "enable-modsecurity": "false\n" }],
  [{ "enable-modsecurity": " false" }],
  [{ "limit-rps": "0 " }],
  [{ "limit-rps": " \n" }],
  [{ "whitelist-source-range": "10.0.0.0/8", "allowlist-source-range": "0.0.0.0/0,::/0" }],
  [{ "whitelist-source-range": "0.0.0.0/0,::/0", "allowlist-source-range": "10.0.0.0/8" }],
  [{ "whitelist-source-range": "10.0.0.0/8", "allowlist-source-range": "" }],
  [{ "allowlist-source-range": "10.0.0.0/8" }],
  [{ "denylist-source-range": "10.0.0.0/8" }],
  [{ "force-ssl-redirect": "true" }],
  [{ "force-ssl-redirect": "false" }],
  [{ "ssl-redirect": "true" }],
  [{ "satisfy": "any" }],
  [{ "auth-type": "basic", "auth-secret": "logins" }],
  [{ "auth-secret": "logins" }],
  [{ "auth-url": "https://auth.example.com/" }],
  [{ "auth-url": " " }],
  [{ "enable-global-auth": "true" }],
  [{ "enable-global-auth": "false" }],
  [{ "enable-global-auth": "true", "auth-url": "https://auth.example.com/" }],
  [{ "proxy-body-size": "8m" }],
  [{ "proxy-body-size": "0m" }],
  [{ "proxy-body-size": "1G" }],
  [{ "proxy-body-size": "0" }],
  [{ "proxy-body-size": "00" }],
  [{ "proxy-body-size": "64k" }],
  [{ "proxy-body-size": "1023k" }],
  [{ "proxy-body-size": "1024K" }],
  [{ "proxy-body-size": "1048575" }],
  [{ "proxy-body-size": "1048576 " }],
  [{ "proxy-body-size": "999999999999" }],
  [{ "backend-protocol": "http" }],
  [{ "backend-protocol": "GRPC" }],
  [{ "backend-protocol": "HTTPS" }],
  [{ "proxy-ssl-secret": "default/tls", "proxy-ssl-verify": "on" }],
  [{ "proxy-ssl-verify": "on" }],
];

policyTest("the API server warns of 503 where the controller closes paths", async (cluster) => {
  const cases = CASES.flatMap(([values, placed = {}]) =>
    ["pingress", IN_PROFILE].map((className) => [values, { ...placed, className }] as const)
  );
  for (const [values, placed] of cases) {
    const warnings = await warningsOf(cluster, values, placed);
    const warnsOf503 = warnings.some((line) => line.includes("503"));
    equal(warnsOf503, closes(values, placed), `${JSON.stringify([values, placed])} ${warnings}`);
  }
});

/** The API server cuts the warnings of one request at 4 KiB. */
const AT_ONCE = 8;

policyTest("each annotation without an effect has one warning that names it", async (cluster) => {
  const names = [...BY_NAME].filter(([, { row }]) => !isHonoured(row)).map(([name]) => name);
  for (let i = 0; i < names.length; i += AT_ONCE) {
    const written = names.slice(i, i + AT_ONCE);
    // Some have an effect beside it alone; it is honoured, and has no warning.
    const beside = { "auth-url": "https://auth.example.com/" };
    const values = {
      ...beside,
      ...Object.fromEntries(written.map((name) => [name, "something"])),
    };
    const placed = { className: IN_PROFILE };
    const warned = (await warningsOf(cluster, values, placed)).map((line) =>
      /'pingress-nginx-annotations': ([a-z\d-]+) /.exec(line)?.[1]
    );
    deepEqual(warned, written);
  }
});

policyTest("a name that ingress-nginx does not have is named", async (cluster) => {
  const [warning, ...more] = await warningsOf(cluster, { "rewrite-traget": "/" });
  match(warning, /ingress-nginx has no annotation nginx\.ingress\.kubernetes\.io\/rewrite-traget/);
  deepEqual(more, []);
});

policyTest(
  "Ingresses of classes of Pingress have warnings, and of others with a setting of Pingress",
  async (cluster) => {
    const warned: string[] = [];
    for (const className of [...CLASSES.map(([name]) => name), "warn-none"]) {
      const warnings = await warningsOf(cluster, { "limit-rps": "10" }, { className });
      if (warnings.length > 0) warned.push(`${className} ${warnings.length}`);
    }
    deepEqual(warned, ["pingress 1", "warn-old 1", `${IN_PROFILE} 1`, "warn-taken-over 1"]);
    const legacy = { className: null, annotated: "warn-taken-over" };
    equal((await warningsOf(cluster, { "limit-rps": "10" }, legacy)).length, 1);
  },
);

policyTest(
  "what needs the profile has a warning with the remedy, unless the class has it or is taken over",
  async (cluster) => {
    const warned: string[] = [];
    for (const [className] of CLASSES) {
      const warnings = await warningsOf(cluster, { "auth-url": "https://a.test/" }, { className });
      if (warnings.length > 0) warned.push(className);
      for (const warning of warnings) {
        match(
          warning,
          /: auth-url protects paths only in the profile nginx, so its paths answer 503 unless --nginx-class names the class: annotate the IngressClass with pingress\.io\/profile: nginx$/,
        );
      }
    }
    deepEqual(warned, ["pingress", "warn-old"]);
  },
);

policyTest("Ingresses without such annotations have no warning", async (cluster) => {
  deepEqual(await warningsOf(cluster, {}), []);
});
