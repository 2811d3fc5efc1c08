/**
 * Ingresses of a large cluster with annotations of ingress-nginx. In: Ingresses, and how many distinct sets
 * of values they have. Out: the same Ingresses with 8 annotations each, all of them honoured.
 */
import type { Ingress } from "../../controller/kube/resources.ts";

/** The same Ingresses with 8 annotations of ingress-nginx, of so many different sets of values. */
export function annotated(ingresses: readonly Ingress[], sets: number): Ingress[] {
  return ingresses.map((ingress, i) => {
    const set = sets === 0 ? 0 : i % sets;
    const annotations: Record<string, string> = sets === 0 ? {} : {
      "nginx.ingress.kubernetes.io/proxy-connect-timeout": String(1 + set % 70),
      "nginx.ingress.kubernetes.io/proxy-read-timeout": String(60 + set),
      "nginx.ingress.kubernetes.io/proxy-send-timeout": String(60 + set),
      "nginx.ingress.kubernetes.io/proxy-body-size": `${1 + set}k`,
      "nginx.ingress.kubernetes.io/proxy-next-upstream": "error timeout http_502",
      "nginx.ingress.kubernetes.io/proxy-next-upstream-tries": String(1 + set % 5),
      "nginx.ingress.kubernetes.io/whitelist-source-range": `10.${set >> 8 & 255}.${
        set & 255
      }.0/24,192.168.0.0/16`,
      "nginx.ingress.kubernetes.io/upstream-vhost": `host-${set}.internal`,
    };
    return { ...ingress, metadata: { ...ingress.metadata, annotations } };
  });
}

/** With `use-regex` and `rewrite-target` in place of two others, and for each Ingress another path. */
export function rewritten(ingresses: readonly Ingress[], sets: number): Ingress[] {
  return annotated(ingresses, sets).map((ingress, i) => {
    const {
      "nginx.ingress.kubernetes.io/proxy-next-upstream": _,
      "nginx.ingress.kubernetes.io/proxy-next-upstream-tries": __,
      ...annotations
    } = ingress.metadata?.annotations ?? {};
    const [rule] = ingress.spec?.rules ?? [];
    const [entry] = rule.http?.paths ?? [];
    const path = { ...entry, path: `/api-${i}(/|$)(.*)`, pathType: "ImplementationSpecific" };
    return {
      ...ingress,
      metadata: {
        ...ingress.metadata,
        annotations: {
          ...annotations,
          "nginx.ingress.kubernetes.io/use-regex": "true",
          "nginx.ingress.kubernetes.io/rewrite-target": `/v${i % sets}/$2`,
        },
      },
      spec: { ...ingress.spec, rules: [{ ...rule, http: { paths: [path] } }] },
    };
  });
}
