/**
 * What a cluster needs beside `manifests/oauth2-proxy`: the application, the provider, and a certificate
 * for both hosts. In: an authority. Out: objects.
 */
import type { CertificateAuthority } from "../../../dev/certificate_authority.ts";
import type { KubeObject } from "../../cluster/support/api_client.ts";
import { HOST, LOGIN_HOST } from "./site.ts";

/** Of the example, in whose place the image of this folder runs. */
export const IMAGE = "quay.io/oauth2-proxy/oauth2-proxy:v7.14.2";

/** Named by the Ingresses of the example. */
const TLS_SECRET = "app-tls";

export async function tlsSecret(authority: CertificateAuthority): Promise<Partial<KubeObject>> {
  const { chain, key } = await authority.issue({ names: [HOST, LOGIN_HOST] });
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: TLS_SECRET },
    type: "kubernetes.io/tls",
    stringData: { "tls.crt": chain, "tls.key": key.reveal() },
  };
}

/** Of the application, on the provider's host and without a login: whether it has endpoints. */
export const PROBE = "/application-is-ready";

/** The provider on its own host. */
export function ingressOfProvider(): Partial<KubeObject> {
  const backend = (name: string) => ({ service: { name, port: { number: 80 } } });
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "Ingress",
    metadata: { name: "identity" },
    spec: {
      ingressClassName: "nginx",
      tls: [{ hosts: [LOGIN_HOST], secretName: TLS_SECRET }],
      rules: [{
        host: LOGIN_HOST,
        http: {
          paths: [
            { path: "/", pathType: "Prefix", backend: backend("identity") },
            { path: PROBE, pathType: "Exact", backend: backend("web") },
          ],
        },
      }],
    },
  };
}

/** A Deployment of one server of this folder, and its Service. */
export function serverOf(name: string, server: "application" | "identity"): Partial<KubeObject>[] {
  const labels = { app: name };
  const variable = (name: string, key: string) => ({
    name,
    valueFrom: { secretKeyRef: { name: "oauth2-proxy", key } },
  });
  return [
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name },
      spec: { selector: labels, ports: [{ port: 80, targetPort: 8080 }] },
    },
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name },
      spec: {
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: {
            automountServiceAccountToken: false,
            enableServiceLinks: false,
            terminationGracePeriodSeconds: 1,
            containers: [{
              name: "server",
              image: IMAGE,
              args: [`--server=${server}`, "--http-address=0.0.0.0:8080"],
              env: [
                variable("OAUTH2_PROXY_CLIENT_ID", "client-id"),
                variable("OAUTH2_PROXY_CLIENT_SECRET", "client-secret"),
              ],
              readinessProbe: {
                httpGet: { path: "/ready", port: 8080 },
                periodSeconds: 1,
                timeoutSeconds: 5,
              },
            }],
          },
        },
      },
    },
  ];
}
