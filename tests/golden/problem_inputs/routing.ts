/** Ingresses that are valid for the API server, and cannot be served as they are written. In: nothing. Out: a table. */
import {
  type BrokenInput,
  changed,
  INGRESS,
  ofIngress,
  ofService,
  secret,
  SERVICE,
  TLS,
} from "./input.ts";

function withTls(name: string, files: Readonly<Record<string, string>>, tls = TLS): BrokenInput {
  return { name, files: { "ing.yaml": INGRESS + tls, "svc.yaml": SERVICE, ...files } };
}

const OTHER = changed(INGRESS, "  name: web\nspec", "  name: zzz\nspec");

const SLICE = `apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata:
  name: web-1
  labels:
    kubernetes.io/service-name: web
addressType: IPv4
endpoints:
  - addresses: ["10.0.0.1"]
    conditions:
      ready: true
ports:
  - port: 8080
`;

function withSlice(name: string, from: string, to: string): BrokenInput {
  return {
    name,
    files: { "ing.yaml": INGRESS, "svc.yaml": SERVICE, "slice.yaml": changed(SLICE, from, to) },
  };
}

export const ROUTING: readonly BrokenInput[] = [
  ofIngress("a host with an underscore", "app.example.com", "my_app.example.com"),
  ofIngress("a host with a port", "app.example.com", "app.example.com:8080"),
  ofIngress("a host with a scheme", "app.example.com", "https://app.example.com"),
  ofIngress("a host with a path", "app.example.com", "app.example.com/x"),
  ofIngress("a host with other letters", "app.example.com", "b\u00fccher.test"),
  ofIngress("a host that is a variable", "app.example.com", '"${HOST}"'),
  ofIngress("a host with a star in the middle", "app.example.com", "'app.*.com'"),
  ofIngress("a host that is an address", "app.example.com", "192.0.2.1"),
  ofIngress("a host in capitals", "app.example.com", "App.Example.com"),
  ofIngress("a path without a slash", "path: /", "path: api"),
  ofIngress("a path with a broken escape", "path: /", "path: /a%zz"),
  ofIngress("a path with dot segments", "path: /", "path: /a/../b"),
  ofIngress("a path that looks like a pattern", "path: /", "path: /api/(.*)"),
  ofIngress("a pathType in lower case", "Prefix", "prefix"),
  ofIngress("no pathType", "            pathType: Prefix\n", ""),
  ofIngress("no paths", / {6}http:\n[^]*$/, ""),
  ofIngress("no rules", / {2}rules:\n[^]*$/, ""),
  ofIngress("no backend", / {12}backend:\n[^]*$/, ""),
  ofIngress("no port", / {16}port:\n[^]*$/, ""),
  ofIngress(
    "a resource as backend",
    /service:\n[^]*$/,
    "resource: { apiGroup: a.example.com, kind: Bucket, name: b }\n",
  ),
  ofIngress("a misspelt Service", "                name: web", "                name: wbe"),
  ofIngress(
    "a Service that does not exist",
    "                name: web",
    "                name: shop",
  ),
  {
    name: "a Service of another namespace",
    files: {
      "ing.yaml": INGRESS,
      "svc.yaml": changed(SERVICE, "  name: web\n", "  name: web\n  namespace: shop\n"),
    },
  },
  ofIngress("a port that the Service does not have", "number: 80", "number: 8080"),
  ofIngress("a misspelt name of a port", "number: 80", "name: htp"),
  ofService(
    "a Service of type ExternalName",
    / {2}selector:\n[^]*$/,
    "  type: ExternalName\n  externalName: api.example.com\n",
  ),
  ofService("an unknown appProtocol", "- port: 80", "- port: 80\n      appProtocol: quic"),
  withSlice("no ready endpoint", "ready: true", "ready: false"),
  withSlice("an endpoint that is a name", "10.0.0.1", "db.example.com"),
  {
    name: "the same host and path in two Ingresses",
    files: { "a.yaml": INGRESS, "b.yaml": OTHER, "svc.yaml": SERVICE },
  },
  {
    name: "a host of another namespace",
    files: {
      "a.yaml": INGRESS,
      "b.yaml": changed(OTHER, "  name: zzz\n", "  name: zzz\n  namespace: shop\n"),
      "svc.yaml": `${SERVICE}---\n${
        changed(SERVICE, "  name: web\n", "  name: web\n  namespace: shop\n")
      }`,
    },
  },
  withTls("a missing Secret", {}),
  withTls("a misspelt Secret", { "tls.yaml": secret("web-tsl", "app.crt", "app.key") }),
  withTls("a Secret of another namespace", {
    "tls.yaml": secret("web-tls", "app.crt", "app.key", "shop"),
  }),
  {
    ...withTls("a Secret that cert-manager makes", {
      "ing.yaml": changed(
        INGRESS + TLS,
        "  name: web\n",
        "  name: web\n  annotations:\n    cert-manager.io/cluster-issuer: letsencrypt\n",
      ),
    }),
    needsNothing: true,
  },
  withTls("a key of another certificate", { "tls.yaml": secret("web-tls", "app.crt", "two.key") }),
  withTls("an encrypted key", { "tls.yaml": secret("web-tls", "app.crt", "encrypted.key") }),
  withTls("half a certificate", { "tls.yaml": secret("web-tls", "half.crt", "app.key") }),
  withTls("an expired certificate", {
    "tls.yaml": secret("web-tls", "expired.crt", "expired.key"),
  }),
  {
    ...withTls("a certificate that ends in three days", {
      "tls.yaml": secret("web-tls", "app.crt", "app.key"),
    }),
    options: { now: "2119-12-28T12:00:00Z" },
  },
  withTls("a certificate for another host", {
    "tls.yaml": secret("web-tls", "two.crt", "two.key"),
  }),
  withTls("a certificate without names", {
    "tls.yaml": secret("web-tls", "unnamed.crt", "unnamed.key"),
  }),
  withTls(
    "hosts of a TLS entry that are a text",
    {},
    changed(TLS, "[app.example.com]", "app.example.com"),
  ),
  withTls("a TLS entry without a Secret", {}, changed(TLS, / {6}secretName.*\n/, "")),
  withTls(
    "a TLS entry for another host",
    { "tls.yaml": secret("web-tls", "wildcard.crt", "wildcard.key") },
    changed(TLS, "app.example.com", "www.example.com"),
  ),
  {
    name: "a mapping of a Service that does not exist",
    files: { "ing.yaml": INGRESS, "svc.yaml": SERVICE },
    options: { map: ["default/wbe=127.0.0.1:3000"] },
  },
];
