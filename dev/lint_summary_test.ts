import assert from "node:assert/strict";
import { lintSummary } from "./lint_summary.ts";
import { parseManifestFile } from "./manifests/file.ts";
import { Manifests } from "./manifests/manifests.ts";

interface IngressInput {
  readonly name: string;
  readonly className?: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

function ingress({ name, className, annotations = {} }: IngressInput): string {
  return JSON.stringify({
    apiVersion: "networking.k8s.io/v1",
    kind: "Ingress",
    metadata: { name, annotations },
    spec: {
      ...(className === undefined ? {} : { ingressClassName: className }),
      defaultBackend: { service: { name: "web", port: { number: 80 } } },
    },
  });
}

function summary(inputs: readonly IngressInput[], nginxClasses: string[] = []): string | null {
  const text = inputs.map(ingress).join("\n---\n");
  const plan = {
    ingressClasses: [],
    nginxClasses,
    mappings: [],
    defaultBackend: null,
    allowExternalName: false,
    acceptUnsupported: [],
    allowAcceptUnsupportedAnnotation: false,
  };
  const manifests = new Manifests([parseManifestFile("apps/a.yaml", text)]);
  return lintSummary(manifests, ["apps/"], plan, Date.now);
}

const SNIPPET = { "nginx.ingress.kubernetes.io/server-snippet": "deny all;" };

Deno.test("a folder that has nothing of ingress-nginx gets no summary of lint", () => {
  assert.equal(summary([]), null);
  assert.equal(summary([{ name: "a" }, { name: "b", className: "pingress" }]), null);
  assert.equal(summary([{ name: "a", className: "traefik" }]), null);
  assert.equal(summary([{ name: "a", annotations: { "example.com/a": "b" } }]), null);
});

Deno.test("annotations of ingress-nginx on another class are no business of lint", () => {
  assert.equal(summary([{ name: "a", className: "pingress", annotations: SNIPPET }]), null);
});

Deno.test("a folder of class nginx that is not served names the flag that serves it", () => {
  assert.equal(
    summary([{ name: "a", className: "nginx" }]),
    "Compared with ingress-nginx, 1 Ingress: 0 OPENS, 0 BREAKS, 0 DIFFERS, 1 SAME\n" +
      "To serve class nginx here as ingress-nginx does: --nginx-class nginx\n" +
      "For each difference and its remedy: deno task lint apps/",
  );
});

Deno.test("the worst Ingresses are named with their places, the rest is counted", () => {
  const inputs = Array.from({ length: 12 }, (_, i) => ({
    name: `a${10 + i}`,
    className: "legacy",
    annotations: SNIPPET,
  }));
  const lines = summary(inputs, ["legacy"])!.split("\n");
  assert.match(lines[0], /, 12 Ingresses: 0 OPENS, 12 BREAKS, /);
  assert.equal(lines[1], "  BREAKS   default/a10  apps/a.yaml:1:1");
  assert.equal(lines[11], "  … and 2 more");
  assert.equal(lines[12].split(": ")[1], "deno task lint apps/ --nginx-class legacy");
  assert.equal(lines.length, 13);
});

Deno.test("the ConfigMap and what is accepted count for the summary, and for the command", () => {
  const configMap = JSON.stringify({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "conf", namespace: "edge" },
    data: { "enable-modsecurity": "true" },
  });
  const text = [ingress({ name: "a", className: "nginx" }), configMap].join("\n---\n");
  const manifests = new Manifests([parseManifestFile("apps/a.yaml", text)]);
  const plan = {
    ingressClasses: [],
    nginxClasses: ["nginx"],
    mappings: [],
    defaultBackend: null,
    allowExternalName: true,
    acceptUnsupported: ["limit-rps"],
    allowAcceptUnsupportedAnnotation: false,
  };
  const without = lintSummary(manifests, ["apps/"], plan, Date.now)!;
  assert.match(without, /1 Ingress: 0 OPENS, 0 BREAKS/);
  const spaced = lintSummary(manifests, ["my apps", "b"], plan, Date.now)!;
  assert.match(spaced, /deno task lint 'my apps' b --nginx-class nginx/);
  const named = { ...plan, configMap: { namespace: "edge", name: "conf" } };
  const found = lintSummary(manifests, ["apps/"], named, Date.now)!;
  assert.match(found, /1 Ingress: 0 OPENS, 1 BREAKS/);
  assert.ok(found.endsWith(
    "deno task lint apps/ --nginx-class nginx --configmap edge/conf --allow-external-name " +
      "--accept-unsupported limit-rps",
  ));
});

Deno.test("the summary counts Ingresses that lack the profile because they name no class", () => {
  const lists = { "nginx.ingress.kubernetes.io/whitelist-source-range": "10.0.0.0/8" };
  const text = summary([{ name: "a", annotations: lists }, { name: "b" }], ["nginx"]);
  assert.match(
    text ?? "",
    /^1 without a class, served here without the profile nginx: write spec.ingressClassName: nginx$/m,
  );
  const named = summary([{ name: "a", className: "nginx", annotations: lists }], ["nginx"]);
  assert.doesNotMatch(named ?? "", /without a class/);
});
