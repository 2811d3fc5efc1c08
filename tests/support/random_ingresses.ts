/**
 * Random Ingresses of a few namespaces that want the same few hosts. In: a seed. Out: Ingresses with
 * default backends, shares, deletions and annotations, and Namespaces that assign hosts.
 */
import type { Ingress, Namespace } from "../../controller/kube/resources.ts";
import { randomNumbers } from "./rich_cluster.ts";

export const NAMESPACES = ["a", "b", "c"];
const HOSTS = ["one.test", "two.test", "x.wild.test", "*.wild.test", undefined];
/** The last two take what the second does, where paths are regular expressions. */
const PATHS = ["/", "/a", "/b", "/A", "/a.*"];
/** Without effect, refused for its paths, refused for its host, and refused by the backend. */
const ANNOTATIONS: readonly Readonly<Record<string, string>>[] = [
  { "nginx.ingress.kubernetes.io/proxy-buffering": "on" },
  { "nginx.ingress.kubernetes.io/auth-url": "http://auth.test" },
  { "nginx.ingress.kubernetes.io/auth-tls-secret": "a/ca" },
  { "nginx.ingress.kubernetes.io/backend-protocol": "GRPC" },
  { "nginx.ingress.kubernetes.io/denylist-source-range": "10.0.0.0/8" },
  { "nginx.ingress.kubernetes.io/whitelist-source-range": "192.0.2.0/24, ::1" },
  { "nginx.ingress.kubernetes.io/app-root": "/app" },
  { "nginx.ingress.kubernetes.io/upstream-vhost": "web.$namespace" },
  { "nginx.ingress.kubernetes.io/use-regex": "true" },
  { "nginx.ingress.kubernetes.io/rewrite-target": "/a" },
];

/** Names of hosts, those of rules among them. */
const ALIASES = ["alias.test", "*.alias.test", "www.alias.test", "~^regex$"];

export class RandomIngresses {
  readonly #random: () => number;
  readonly #hosts: readonly (string | undefined)[];
  #serial = 0;

  /** @param hosts More of them make fewer Ingresses share one. */
  constructor(seed: number, hosts: readonly (string | undefined)[] = HOSTS) {
    this.#random = randomNumbers(seed);
    this.#hosts = hosts;
  }

  below(count: number): number {
    return Math.floor(this.#random() * count);
  }

  one<T>(list: readonly T[]): T {
    return list[this.below(list.length)];
  }

  ingress(): Ingress {
    const backend = () => ({ service: { name: this.one(["web", "api", "gone"]), port: PORT } });
    const count = this.below(8) === 0 ? 0 : 1 + this.below(2);
    const rules = Array.from({ length: count }, () => ({
      host: this.one(this.#hosts),
      http: {
        paths: [{ path: this.one(PATHS), pathType: "Prefix", backend: backend() }],
      },
    }));
    const annotations: Record<string, string> = {
      ...(this.below(5) === 0 ? { "pingress.io/share-host-with": this.one(NAMESPACES) } : {}),
      ...(this.below(6) === 0 ? this.one(ANNOTATIONS) : {}),
      ...(this.below(6) === 0 ? this.#names() : {}),
    };
    return {
      metadata: {
        namespace: this.one(NAMESPACES),
        name: `i${this.#serial++}`,
        creationTimestamp: `20${20 + this.below(9)}-01-01T00:00:00Z`,
        ...(this.below(8) === 0 ? { deletionTimestamp: "2029-01-01T00:00:00Z" } : {}),
        annotations,
      },
      spec: {
        rules,
        ...(rules.length === 0 || this.below(6) === 0 ? { defaultBackend: backend() } : {}),
        ...(this.below(4) === 0
          ? { tls: [{ hosts: [this.one(this.#hosts) ?? "any.test"], secretName: "gone" }] }
          : {}),
      },
    };
  }

  /** Of `server-alias` and `from-to-www-redirect`. */
  #names(): Readonly<Record<string, string>> {
    const host = this.one(this.#hosts) ?? "other.test";
    const names = [`a.${host}`, host, `www.${host}`].slice(this.below(3));
    // One that all have would make one group of all.
    if (this.below(6) === 0) names.push(this.one(ALIASES));
    return {
      ...(this.below(3) === 0
        ? {}
        : { "nginx.ingress.kubernetes.io/server-alias": names.join(",") }),
      ...(this.below(2) === 0
        ? { "nginx.ingress.kubernetes.io/from-to-www-redirect": "true" }
        : {}),
    };
  }

  namespaces(): Namespace[] {
    return NAMESPACES.map((name) => ({
      metadata: {
        name,
        creationTimestamp: "2019-01-01T00:00:00Z",
        ...(this.below(6) === 0 ? { deletionTimestamp: "2029-01-01T00:00:00Z" } : {}),
        ...(this.below(4) === 0
          ? { annotations: { "pingress.io/hosts": this.one(this.#hosts) ?? "other.test" } }
          : {}),
      },
    }));
  }
}

const PORT = { number: 80 };
