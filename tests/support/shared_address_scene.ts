/**
 * Clusters with Gateways on the address of Ingresses, for tests of who has which host. In: Gateways, HTTPRoutes and
 * Ingresses in short. Out: translations, one after another, and which object gets a request.
 */
import assert from "node:assert/strict";
import { compileTable } from "../../proxy/router/table.ts";
import type { Resources } from "../../controller/kube/resources.ts";
import type { Snapshot } from "../../shared/snapshot/types.ts";
import {
  DEFAULT_GATEWAY_OPTIONS,
  type TranslateOptions,
  type Translation,
  Translator,
} from "../../controller/translate/translator.ts";
import { TRANSLATE_OPTIONS } from "./translate_options.ts";

const OPTIONS: TranslateOptions = {
  ...TRANSLATE_OPTIONS,
  gateway: { ...DEFAULT_GATEWAY_OPTIONS, address: "shared" },
};

const CLASS = {
  metadata: { name: "pingress" },
  spec: { controllerName: "pingress.io/gateway-controller" },
};

export const NAMESPACES = ["shop", "evil", "infra"];

export function day(age: number): string {
  return new Date(Date.UTC(2020, 0, 1 + age)).toISOString().replace(".000", "");
}

export function gateway(
  namespace: string,
  name: string,
  age: number,
  ...hostnames: (string | null)[]
) {
  return {
    metadata: { name, namespace, creationTimestamp: day(age) },
    spec: {
      gatewayClassName: "pingress",
      listeners: hostnames.map((hostname, i) => ({
        ...{ name: `l${i}`, port: 80, protocol: "HTTP" },
        ...(hostname === null ? {} : { hostname }),
        allowedRoutes: { namespaces: { from: "All" } },
      })),
    },
  };
}

export function route(
  namespace: string,
  name: string,
  age: number,
  hostnames: readonly string[],
  parents: readonly string[],
  path = "/",
) {
  return {
    metadata: { name, namespace, creationTimestamp: day(age) },
    spec: {
      parentRefs: parents.map((parent) => {
        const [namespace, name] = parent.split("/");
        return { namespace, name };
      }),
      hostnames,
      rules: [{
        matches: [{ path: { type: "PathPrefix", value: path } }],
        backendRefs: [{ name: "web", port: 80 }],
      }],
    },
  };
}

export function ingress(
  namespace: string,
  name: string,
  age: number,
  host: string | null,
  path = "/",
) {
  const backend = { service: { name: "web", port: { number: 80 } } };
  return {
    metadata: { name, namespace, creationTimestamp: day(age) },
    spec: {
      ingressClassName: "pingress",
      rules: [{
        ...(host === null ? {} : { host }),
        http: { paths: [{ path, pathType: "Prefix", backend }] },
      }],
    },
  };
}

const BASE: Resources = {
  ingresses: [],
  ingressClasses: [],
  services: NAMESPACES.map((namespace) => ({
    metadata: { name: "web", namespace },
    spec: { ports: [{ port: 80 }] },
  })),
  endpointSlices: NAMESPACES.map((namespace, i) => ({
    metadata: {
      ...{ name: "web-1", namespace },
      labels: { "kubernetes.io/service-name": "web" },
    },
    addressType: "IPv4",
    endpoints: [{ addresses: [`10.0.0.${i + 1}`] }],
    ports: [{ port: 8080 }],
  })),
  secrets: [],
  gatewayClasses: [CLASS],
  gateways: [],
  httpRoutes: [],
  referenceGrants: [],
};

/** As the controller calls it: what came of one translation is published and recorded before the next. */
export class Scene {
  readonly #translator = new Translator();
  readonly #options: TranslateOptions;
  readonly #now: number;
  published: Snapshot | null = null;
  claims: Translation["claims"] = null;

  /** @param now When claims are recorded, in ms since the epoch. */
  constructor(changes: Partial<TranslateOptions> = {}, now = 0) {
    this.#options = { ...OPTIONS, ...changes };
    this.#now = now;
  }

  apply(change: Partial<Resources>): Translation {
    const resources = { ...BASE, ...change };
    const options = { ...this.#options, claims: this.claims };
    const now = () => this.#now;
    const translation = this.#translator.translate(resources, this.published, options, now);
    const anew = new Translator().translate(resources, this.published, options, now);
    assert.deepEqual(translation.snapshot, anew.snapshot);
    assert.deepEqual(translation.gateway, anew.gateway);
    assert.deepEqual(translation.problems, anew.problems);
    this.published = translation.snapshot;
    this.claims = translation.claims;
    return translation;
  }
}

/** The object whose route takes a request; null for none. */
export function winner(
  snapshot: Snapshot,
  host: string,
  path = "/",
  socket = "http",
): string | null {
  const table = compileTable(snapshot, (_action, route) => route);
  const found = table.match(host, path, undefined, socket);
  if (found === null || found.action.kind === "reply") return null;
  const { kind, namespace, name } = found.origin;
  return `${kind} ${namespace}/${name}`;
}

export function acceptedOf({ gateway }: Translation, name: string): string {
  const found = gateway!.routes.find(({ identity }) => identity.key === name)!;
  const [{ status, reason, message }] = found.parents[0].conditions;
  return `${status} ${reason}: ${message}`;
}

/** A listener with HTTPS. */
export function secure(made: ReturnType<typeof gateway>): ReturnType<typeof gateway> {
  const listeners = made.spec.listeners.map((each) => ({
    ...each,
    ...{ port: 443, protocol: "HTTPS" },
    tls: { certificateRefs: [{ name: "cert" }] },
  }));
  return { ...made, spec: { ...made.spec, listeners } };
}
