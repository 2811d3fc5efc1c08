/**
 * Values that tests give to a flag by the chart. In: the spec of the flag. Out: some that it accepts
 * and some that it does not, as in YAML.
 */
import type { OptionSpec } from "../../shared/options.ts";
import { isList } from "./flag_values.ts";

export interface FlagSamples {
  readonly good: readonly unknown[];
  /** Of another type, out of its choices, or out of its range as far as JSON Schema compares. */
  readonly bad: readonly unknown[];
}

/** Of strings with a check of their own. */
const TEXTS: Readonly<Record<string, string>> = {
  proxyServerImage: "registry.example.com/team/proxy:1",
  imagePullSecret: "registry-login",
  nodeSelector: "example.com/edge=true",
  serviceAnnotation: "example.com/scheme=internal, fast",
  proxyPriorityClass: "edge",
  publishAddress: "192.0.2.1",
  watchNamespace: "shop",
  ingressClass: "edge",
  nginxClass: "nginx",
  controllerName: "example.com/controller",
  defaultBackend: "default/web:80",
  defaultSslCertificate: "shop/wildcard-tls",
  configmap: "ingress-nginx/ingress-nginx-controller",
  acceptUnsupported: "limit-rps",
  listenRange: "20000-20100",
  streamName: "stream.example.com",
  controller: "https://controller.example.com:9443",
  clusterDomain: "cluster.example",
  zone: "eu-central-1a",
  accessLogFields: "time,status,path",
  otlpEndpoint: "http://otel-collector.observability.svc:4318",
};

/** Of durations that the controller compares with each other. */
const DURATIONS: Readonly<Record<string, string>> = {
  leaseDuration: "20s",
  renewDeadline: "12s",
  retryPeriod: "3s",
};

/** Of addresses that differ from that of another flag. */
const PORTS: Readonly<Record<string, number>> = { stream: 8124 };

export function flagSamples(key: string, spec: OptionSpec): FlagSamples {
  const { good, bad } = scalarSamples(key, spec);
  return isList(spec)
    ? { good: [[], good, ...good.map((one) => [one])], bad: [...good, ...bad.map((one) => [one])] }
    : { good, bad: [...bad, good.slice(0, 1)] };
}

function scalarSamples(key: string, spec: OptionSpec): FlagSamples {
  switch (spec.type) {
    case "string":
      return { good: [TEXTS[key] ?? "/etc/some/file"], bad: [true, 7, ""] };
    case "boolean":
      return { good: [true, false], bad: ["true", 1] };
    case "integer": {
      const low = spec.min ?? 0;
      return {
        good: [low, spec.max ?? low + 1_000_000],
        bad: [low - 1, 1.5, "many", ...(spec.max === undefined ? [] : [spec.max + 1])],
      };
    }
    case "choice":
      return { good: spec.choices, bad: ["other", true] };
    case "duration": {
      const within = Math.max(spec.min ?? 0, Math.min(spec.max ?? Infinity, 5_000));
      return {
        good: [
          DURATIONS[key] ?? `${within}ms`,
          ...(spec.min === undefined ? [0] : []),
          ...(spec.never ? ["never"] : []),
        ],
        bad: [5, "5", "soon", "5 s", "", ...(spec.never ? [] : ["never"])],
      };
    }
    case "size": {
      const within = Math.max(spec.min ?? 0, Math.min(spec.max ?? Infinity, 65_536));
      return { good: [within, String(within), "64KiB", "64Ki"], bad: [-1, "64K", "many", 1.5] };
    }
    case "ratio":
      return {
        good: [0, 0.05, 1, "0", "0.05", "1.0"],
        bad: [-0.1, 1.5, ".5", "1.01", "10%", true],
      };
    case "address": {
      const port = PORTS[key] ?? 8123;
      const good = [`0.0.0.0:${port}`, `[::]:${port}`, `:${port}`];
      return { good, bad: [port, "example.com:80", "::1"] };
    }
    case "cidr":
      return { good: ["10.0.0.0/8", "fd00::/8", "192.168.1.7"], bad: [10, "ten", "10.0.0.0/x"] };
  }
}
