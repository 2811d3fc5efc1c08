/**
 * What nobody means well by. In: nothing. Out: texts, and objects that carry them in every field that
 * the API server may let through.
 */
import type { KubeObject } from "./api_client.ts";

/** Each is tried in each field. */
export const HOSTILE_TEXTS: readonly string[] = [
  'a"b\'c`d\\e","level":"error","message":"forged',
  "line\nbreak\r\nforged: header\r\n\r\n{}",
  "\u001b[31mred\u001b[0m\u001b]0;title\u0007\u009b31m nul\u0000del\u007fback\b",
  "\u2028\u2029\u202eright-to-left\u2066\u200e\ufeff 😀 汉字 é e\u0301 \u{10ffff}",
  "${jndi:ldap://x}#{7*7}{{7*7}}<%=7*7%>;{}|&$(id)`id`</script><script>alert(1)</script>",
  "%00%0d%0a%2e%2e%2f",
  "-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----",
  "__proto__",
  "constructor",
  "x".repeat(50_000),
  "",
];

/** Objects of one text, each with the fields that take any text at all, or any of a kind. */
export function hostileObjects(text: string, name: string): KubeObject[] {
  return [
    ...hostileIngresses(text, name),
    ...hostileServices(text, name),
    object("v1", "Secret", `${name}-secret`, {
      type: "Opaque",
      stringData: { "tls.crt": text, "tls.key": text, "ca.crt": text },
    }),
    object("v1", "Secret", `${name}-type`, { type: text, stringData: { "tls.crt": text } }),
  ];
}

function hostileIngresses(text: string, name: string): KubeObject[] {
  const host = `${name}.hostile.example.com`;
  const backend = { service: { name: "web", port: { number: 80 } } };
  const rules = (path: unknown) => [{ host, http: { paths: [path] } }];
  const good = rules({ path: "/", pathType: "Prefix", backend });
  const ingress = (suffix: string, spec: Record<string, unknown>, metadata = {}) =>
    object("networking.k8s.io/v1", "Ingress", `${name}-${suffix}`, {
      spec: { ingressClassName: "pingress", rules: good, ...spec },
    }, metadata);
  return [
    ingress("note", {}, {
      annotations: Object.fromEntries(
        ["pingress.io/note", "nginx.ingress.kubernetes.io/auth-url", "example.com/note"]
          .map((annotation) => [annotation, text]),
      ),
    }),
    ingress("old-class", { ingressClassName: undefined }, {
      annotations: { "kubernetes.io/ingress.class": text },
    }),
    ingress("class", { ingressClassName: text }),
    ...["Exact", "Prefix", "ImplementationSpecific"].map((pathType) =>
      ingress(`path-${pathType.toLowerCase()}`, {
        rules: rules({ path: `/${text}`, pathType, backend }),
      })
    ),
    ingress("path-type", { rules: rules({ path: "/", pathType: text, backend }) }),
    ingress("host", { rules: [{ host: text, http: good[0].http }] }),
    ingress("service", {
      rules: rules({
        path: "/",
        pathType: "Prefix",
        backend: { service: { name: text, port: { name: text } } },
      }),
    }),
    ingress("resource", {
      rules: rules({
        path: "/",
        pathType: "Prefix",
        backend: { resource: { apiGroup: "example.com", kind: text, name: text } },
      }),
    }),
    ingress("tls", { tls: [{ hosts: [text], secretName: text }] }),
    ingress("secret", { tls: [{ hosts: [host], secretName: `${name}-secret` }] }),
    ingress("type", { tls: [{ hosts: [host], secretName: `${name}-type` }] }),
    ...["note", "external", "port"].map((service, i) =>
      ingress(`backend-${service}`, {
        rules: rules({
          path: `/${i}`,
          pathType: "Prefix",
          backend: { service: { name: `${name}-${service}`, port: { number: 80 } } },
        }),
      })
    ),
  ];
}

function hostileServices(text: string, name: string): KubeObject[] {
  const prefix = "pingress.io/upstream-tls-";
  const fields = ["name", "ca", "client-certificate", "verify", "other"];
  return [
    object("v1", "Service", `${name}-note`, {
      spec: { ports: [{ port: 80, appProtocol: "https" }] },
    }, { annotations: Object.fromEntries(fields.map((field) => [prefix + field, text])) }),
    object("v1", "Service", `${name}-external`, {
      spec: { type: "ExternalName", externalName: text },
    }),
    object("v1", "Service", `${name}-port`, { spec: { ports: [{ port: 80, appProtocol: text }] } }),
    object("discovery.k8s.io/v1", "EndpointSlice", `${name}-port`, {
      addressType: "FQDN",
      endpoints: [{ addresses: [text], zone: text, hostname: text }],
      ports: [{ name: text, port: 80 }],
    }, { labels: { "kubernetes.io/service-name": `${name}-port` } }),
  ];
}

/** More than anybody writes: each a single Ingress. */
export function hugeIngresses(): KubeObject[] {
  const backend = { service: { name: "nowhere", port: { number: 80 } } };
  const path = (value: string) => ({ path: value, pathType: "Prefix", backend });
  const many = <T>(count: number, make: (index: number) => T) =>
    Array.from({ length: count }, (_, i) => make(i));
  const ingress = (name: string, spec: Record<string, unknown>, metadata = {}) =>
    object("networking.k8s.io/v1", "Ingress", name, {
      spec: {
        ingressClassName: "pingress",
        rules: [{ host: "huge.example.com", http: { paths: [path("/")] } }],
        ...spec,
      },
    }, metadata);
  return [
    ingress("huge-paths", {
      rules: [{ host: "paths.example.com", http: { paths: many(1000, (i) => path(`/${i}`)) } }],
    }),
    ingress("huge-hosts", {
      rules: many(1000, (i) => ({ host: `h${i}.example.com`, http: { paths: [path("/")] } })),
    }),
    ingress("huge-tls", {
      tls: many(1000, (i) => ({ hosts: [`t${i}.example.com`], secretName: `secret-${i}` })),
    }),
    ingress("huge-path", {
      rules: [{ host: "path.example.com", http: { paths: [path(`/${"x".repeat(40_000)}`)] } }],
    }),
    ingress("huge-label", {
      rules: [{ host: `${"a".repeat(240)}.example.com`, http: { paths: [path("/")] } }],
    }),
    ingress("huge-annotation", {}, {
      annotations: { "pingress.io/note": '\u001b[31m"\n'.repeat(29_250) },
    }),
    ingress("huge-annotations", {}, {
      annotations: Object.fromEntries(many(2000, (i) => [`pingress.io/note-${i}`, "\n"])),
    }),
  ];
}

function object(
  apiVersion: string,
  kind: string,
  name: string,
  fields: Record<string, unknown>,
  metadata = {},
): KubeObject {
  return { apiVersion, kind, metadata: { name, ...metadata }, ...fields };
}
