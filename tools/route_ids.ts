/**
 * What ids of routes look like, for `docs/metrics.md`. In: nothing. Out: each form, with an example and what it
 * means; tests/golden checks that the translation makes no other.
 */

export interface RouteIdForm {
  /** As the page has it. */
  readonly example: string;
  readonly pattern: RegExp;
  /** Sentences. */
  readonly meaning: string;
}

export const ROUTE_IDS: readonly RouteIdForm[] = [
  {
    example: "app.example.com Prefix /api",
    pattern: /^\S+ (Exact|Prefix|Regex) .*$/s,
    meaning:
      "A path of an Ingress, or of a configuration file: host, path type and path. `*` is a route for " +
      "all hosts. `ImplementationSpecific` is `Prefix`, or `Regex` where annotations ask for regular " +
      "expressions.",
  },
  {
    example: "default/web 0.1 app.example.com",
    pattern: /^[^/\s]+\/\S+ \d+\.\d+ \S+$/,
    meaning:
      "The HTTPRoute `default/web`, `spec.rules[0].matches[1]`, for a hostname; each hostname " +
      "that the route shares with its listeners has an id. `*` is all hostnames. A rule without " +
      "matches has one, number 0.",
  },
  {
    example: "default/web 0.0 app.example.com HTTPS 443",
    pattern: /^[^/\s]+\/\S+ \d+\.\d+ \S+ [A-Z]+ \d+$/,
    meaning:
      "The same of a rule with a filter `RequestRedirect`, which depends on protocol and port " +
      "of the listener.",
  },
  {
    example: "app.example.com guard",
    pattern: /^\S+ guard$/,
    meaning:
      "No object has this route. On the ports that Gateways share with Ingresses, it responds with " +
      "404 to requests for a host that none of its routes takes, so that routes of a broader host, " +
      "which belong to another namespace or listener, do not take them.",
  },
];

/** Rows of a table in Markdown. */
export function routeIdRows(): string[] {
  return [
    "| id | route |",
    "| --- | --- |",
    ...ROUTE_IDS.map(({ example, meaning }) =>
      `| \`${example}\` | ${meaning.replaceAll("|", "\\|")} |`
    ),
  ];
}
