/** Broken inputs. In: nothing. Out: their type, and the valid objects that they are made of by one change each. */
import type { PlanInput } from "../../support/dev_plan.ts";

/** One mistake, as a user makes it. */
export interface BrokenInput {
  readonly name: string;
  /** By name. */
  readonly files: Readonly<Record<string, string | Uint8Array>>;
  /** As on the command line. */
  readonly options?: PlanInput;
  /** Whether nothing is to be done: no error and no warning. */
  readonly needsNothing?: true;
}

export const INGRESS = `apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: web
spec:
  ingressClassName: pingress
  rules:
    - host: app.example.com
      http:
        paths:
          - path: /
            pathType: Prefix
            backend:
              service:
                name: web
                port:
                  number: 80
`;

export const SERVICE = `apiVersion: v1
kind: Service
metadata:
  name: web
spec:
  selector:
    app: web
  ports:
    - port: 80
`;

export const TLS = `  tls:
    - hosts: [app.example.com]
      secretName: web-tls
`;

export const GATEWAY = `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata:
  name: web
spec:
  gatewayClassName: pingress
  listeners:
    - name: http
      port: 80
      protocol: HTTP
`;

export const ROUTE = `apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata:
  name: web
spec:
  parentRefs:
    - name: web
  hostnames: [app.example.com]
  rules:
    - backendRefs:
        - name: web
          port: 80
`;

/** The text with one change; throws where there is nothing to change. */
export function changed(text: string, from: string | RegExp, to: string): string {
  const after = text.replace(from, to);
  if (after === text) throw new Error(`nothing to change: ${from}`);
  return after;
}

/** The Ingress with one change, and its Service. */
export function ofIngress(name: string, from: string | RegExp, to: string): BrokenInput {
  return { name, files: { "ing.yaml": changed(INGRESS, from, to), "svc.yaml": SERVICE } };
}

/** The Service with one change, and its Ingress. */
export function ofService(name: string, from: string | RegExp, to: string): BrokenInput {
  return { name, files: { "ing.yaml": INGRESS, "svc.yaml": changed(SERVICE, from, to) } };
}

/** The Ingress with annotations, and its Service. */
export function annotated(
  name: string,
  annotation: string,
  options: PlanInput = {},
): BrokenInput {
  const text = changed(
    INGRESS,
    "  name: web\n",
    `  name: web\n  annotations:\n    ${annotation}\n`,
  );
  return { name, files: { "ing.yaml": text, "svc.yaml": SERVICE }, options };
}

/** A valid Ingress and Service beside one more file. */
export function beside(file: string, text: string | Uint8Array, name = file): BrokenInput {
  return { name, files: { "ing.yaml": INGRESS, "svc.yaml": SERVICE, [file]: text } };
}

/** A Secret of type kubernetes.io/tls. */
export function secret(name: string, certificate: string, key: string, namespace = ""): string {
  const indented = (file: string) =>
    Deno.readTextFileSync(new URL(`../certificates/${file}`, import.meta.url))
      .trimEnd().split("\n").map((line) => `    ${line}`).join("\n");
  return `apiVersion: v1
kind: Secret
type: kubernetes.io/tls
metadata:
  name: ${name}
${namespace === "" ? "" : `  namespace: ${namespace}\n`}stringData:
  tls.crt: |
${indented(certificate)}
  tls.key: |
${indented(key)}
`;
}
