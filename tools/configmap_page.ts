/**
 * The page of ingress-nginx's ConfigMap. In: the table of its keys. Out: the text of
 * `docs/configmap.md`.
 */
import { type ConfigKey, hasEffect, keyCloses } from "../controller/translate/config_map/key.ts";
import { KEY_GROUPS } from "../controller/translate/config_map/table.ts";

/** Where the page stands, relative to the repository. */
export const CONFIGMAP_PAGE = "docs/configmap.md";

export function configmapPage(): string {
  return [
    "# The ConfigMap of ingress-nginx",
    "",
    "Made from the program itself by `deno task docs:update`; do not edit.",
    "",
    "ingress-nginx reads settings for all Ingresses from a ConfigMap, which its argument `--configmap`",
    "names. The controller reads it for Ingresses of [the nginx profile](annotations.md#the-nginx-profile):",
    "",
    "```",
    "--configmap=ingress-nginx/ingress-nginx-controller",
    "```",
    "",
    "`deno task dev` and `deno task explain` have the same flag, for a ConfigMap of the folder, and",
    "[`deno task lint`](lint.md) says what becomes of each key. Without the flag, no key has an effect; the",
    "controller warns of that once, when it first serves the profile.",
    "",
    "The controller must be allowed to watch this one object; no manifest allows that by default.",
    "[`overlays/configmap`](../overlays/configmap/kustomization.yaml) has the Role for the name above: copy",
    "it, and change the name and the namespace where yours are others.",
    "",
    "A change applies to all Ingresses of the profile at once. Problems are Events on the ConfigMap, too. For",
    "these, a controller that serves [some namespaces only](install.md#restrict-to-namespaces) also needs the",
    "verbs `create` and `patch` on `events` in the ConfigMap's namespace; without them, the problems are in",
    "its log, its metrics and on `/problems`.",
    "",
    "## What closes paths",
    "",
    "A key that protects and has no effect here **closes** all paths of the profile: requests get 503, and",
    "the ConfigMap gets an error (`NginxConfigMap`) with the remedy. So does a key with an effect whose",
    "value is not valid. `--accept-unsupported=NAME,…` serves the paths without a key that is not",
    "supported; what is not valid cannot be accepted. Keys and annotations of the same name are accepted",
    "together.",
    "",
    "A value that requests nothing closes nothing: an empty value, and `false`, `off` or `0` of a switch or",
    "limit. Neither do `ssl-protocols` with `TLSv1.2`, and `ssl-ciphers` with all of ingress-nginx's own",
    "default.",
    "",
    "An Ingress with an annotation of a higher risk than `annotations-risk-level`, or with a word of",
    "`annotation-value-word-blocklist` in a value, is refused as a whole: all of its paths return 503, and",
    "`--accept-unsupported` does not change that.",
    "",
    "A ConfigMap that does not exist, or that the controller may not read, closes the paths too",
    "(`ConfigMapNotFound`), because it may protect. If it is deleted later, as when ingress-nginx is",
    "uninstalled, its last published settings stay in effect, with the same error. To drop them, start the",
    "controller without `--configmap`.",
    "",
    "## Blocked clients",
    "",
    "`block-cidrs`, `block-user-agents` and `block-referers` reject requests for all hosts of the profile",
    "with 403: after the limit of bodies, and before redirects, access lists and authentication. The last",
    "two have at most 100 entries each, which are compared as nginx's `map` does:",
    "",
    '- a text with the whole header, whatever its case; `""` stands for requests without the header;',
    "- `~` with a regular expression that is searched in the header, and `~*` with one that ignores case.",
    "  It must be one that matches in linear time",
    "  ([regular expressions](annotations.md#regular-expressions)).",
    "",
    "A request whose headers are too long for all expressions of a list together gets 403, too: this takes",
    "about 1,000 characters with 100 expressions, and more than 8,192 with 10.",
    "",
    "One entry that is not valid closes the paths. Ingresses of other classes are not affected, nor are",
    "requests that no path of a host takes: these get 404, a redirect to HTTPS, or the response of the",
    "controller's `--default-backend`.",
    "",
    ...GLOBAL_AUTHENTICATION,
    "## Addresses of clients behind a load balancer",
    "",
    '`use-forwarded-headers: "true"` with `proxy-real-ip-cidr` trusts the peers of these networks: their',
    "`X-Forwarded-*` and `X-Request-Id` are believed. The client is the last address of",
    "`X-Forwarded-For` that is in none of the networks: lists of networks and `block-cidrs` check it, and",
    "backends get it as `X-Real-IP`. A request that came over HTTPS by `X-Forwarded-Proto` is not redirected",
    "to HTTPS.",
    "",
    "- **It holds for all that the proxies serve**, not only for the profile: a proxy needs the address of a",
    "  client before it knows the route. The networks of the proxies' own flag `--trusted-proxies` are trusted",
    "  besides; of these peers alone, `X-Real-IP` names the client where there is no `X-Forwarded-For`.",
    "  No limit per address counts the connections and bodies of trusted peers.",
    "- **List only the load balancers in front of the proxies.** Every client in these networks can choose its address. With",
    "  `externalTrafficPolicy: Cluster`, the peers may be the nodes in place of the load balancer.",
    "- In ingress-nginx the list is `0.0.0.0/0` by default. Here `use-forwarded-headers` without",
    "  `proxy-real-ip-cidr`, or with networks that are all addresses together, **closes** the paths of the profile, and",
    "  nobody is trusted. A list that is not valid closes them, too. Where `--trusted-proxies` already has the",
    "  networks (`--proxy-arg=--trusted-proxies=10.0.0.0/8` of the controller), remove the key, or accept it",
    "  by `--accept-unsupported=use-forwarded-headers`.",
    "- ingress-nginx believes `X-Forwarded-Proto`, `-Host` and `-Port` of every peer; here they are replaced",
    "  in requests of peers that are not trusted.",
    "- A change applies to open connections from their next request on. A connection stays counted by the",
    "  limits per address as it was when it came.",
    "",
    "A trusted peer's address is appended to `X-Forwarded-For`, as with `compute-full-forwarded-for`.",
    "Without `use-forwarded-headers`, `proxy-real-ip-cidr` has no effect.",
    "",
    "## Keys",
    "",
    "- *honoured* or *differs*: it has its effect, but for the difference that the table names.",
    "- *always so*: the proxies behave like that without it.",
    "- *refused*: it will not have an effect.",
    "- *not yet*: it has no effect in this version. The ConfigMap gets a warning, with what to use in its",
    "  place, or the paths are closed.",
    "",
    "A key that is the default of an annotation counts where an Ingress does not have the annotation, and",
    "has the same differences.",
    "",
    "A key that only adds to others (*with …*) is closed with them. An unknown key is reported; in",
    "ingress-nginx it has no effect either.",
    "",
    ...KEY_GROUPS.flatMap(([title, group]) => [
      `### ${title}`,
      "",
      "| key | in ingress-nginx | value | here |",
      "| --- | --- | --- | --- |",
      ...Object.entries(group).map(([name, row]) => rowOf(name, row)),
      "",
    ]),
  ].join("\n");
}

const GLOBAL_AUTHENTICATION = [
  "## Global authentication",
  "",
  "`global-auth-url` and the keys that add to it authenticate the requests of all Ingresses of the profile",
  "[as the annotations without `global-` do](annotations.md#how-requests-are-authenticated). An Ingress with",
  "`auth-url` uses none of these keys. One without uses all of them, and none of its own annotations that",
  'add to `auth-url`; `enable-global-auth: "false"` exempts it, and so does `satisfy: any` for clients that',
  "another check admits. The Ingress of the authentication server needs that annotation: a route of the URL",
  "that requires external authentication itself makes all requests fail with 500.",
  "",
  "The host of the URL decides who is asked:",
  "",
  "- `NAME.NAMESPACE.svc`, also with `.cluster.local`: the endpoints of this Service, of any namespace.",
  "  Without the Service the paths return 503, with one error for the ConfigMap.",
  "- `$host`, `$http_host` and names with them: the route of this host, inside the proxy. The route must be",
  "  of the same host as the request, or forward to the namespace of the Ingress.",
  "- Any other name, resolved by DNS, or an address. `--allow-external-name` is not needed, as the",
  "  operator names it. The certificate of an `https` URL is verified.",
  "",
  "Proxies also resolve such a name if it is the host of an Ingress. Otherwise, whoever claims the host could",
  "admit clients to every path. Proxies refuse requests of their own that come back, so that requests get 500",
  "if the name leads to the proxies; the ConfigMap has a warning. Write the Service in place of the",
  "host. Or, with `--host-ownership=namespace`, [assign the host](tenants.md) to its namespace by the",
  "annotation `pingress.io/hosts` of the Namespace: its routes get the subrequests then, inside the proxy.",
  "",
  "Paths of Ingresses that begin with a text of `no-auth-locations`, as they are written, need no login,",
  "neither of `global-auth-url` nor of `auth-url` and `auth-type`; networks are checked. It is",
  "`/.well-known/acme-challenge` by default, also without `--configmap`, so that cert-manager's challenges",
  "are answered. A value of your own replaces this; an empty one exempts nothing. A request needs no login",
  "if its route is of such a path: `/public/../admin` and `/public%2f..%2fadmin` are not below `/public`.",
  "",
];

function rowOf(name: string, row: ConfigKey): string {
  const cells = [`\`${name}\``, sentence(row.does), row.value.what, verdictOf(row)];
  return `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
}

function verdictOf(row: ConfigKey): string {
  const { verdict, beside } = row;
  const closes = keyCloses(row) ? ", **closes**" : "";
  const besides = beside === undefined || hasEffect(row)
    ? ""
    : `, with ${beside.map((each) => `\`${each}\``).join(", ")}`;
  switch (verdict.kind) {
    case "honoured":
      return "honoured";
    case "differs":
      return `differs: ${sentence(verdict.difference)}`;
    case "always":
      return `always so${closes}${besides}: ${sentence(verdict.because)}`;
    case "refused":
      return `refused${closes}${besides}: ${sentence(verdict.because)}`;
    case "not-yet": {
      const remedy = row.closedRemedy ?? verdict.remedy;
      return `not yet${closes}${besides}${remedy === null ? "" : `: ${sentence(remedy)}`}`;
    }
  }
}

function sentence(clause: string): string {
  return `${clause[0].toUpperCase()}${clause.slice(1)}.`;
}
