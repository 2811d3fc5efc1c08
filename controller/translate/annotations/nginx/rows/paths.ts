/** Annotations about which requests a path takes, and what the backend receives of them. */
import { differs, type Group, NOT_YET, row, type Surroundings } from "./row.ts";
import { FORWARDED_PREFIX, REWRITE_TARGET } from "./rewrite_target.ts";
import { HOST_TEMPLATE, TEMPLATE, URL_TEMPLATE } from "./template.ts";
import { BOOL, listOf, oneOf } from "./value.ts";

const PATH_ROW = { scope: "path", invalid: "default", protects: false, verdict: NOT_YET } as const;

const isWithoutMirror = (_: unknown, { textOf }: Surroundings): boolean =>
  (textOf("mirror-target") ?? "") === "";

export const PATHS = {
  "rewrite-target": row({
    ...PATH_ROW,
    risk: "Medium",
    scope: "host",
    value: REWRITE_TARGET,
    verdict: differs(
      "requests whose new path has dot segments get 400, a Prefix that equals the target is not rewritten, a group that PCRE repeats without text, as in (|a)?(.*), may have another text, and outside of the profile nginx paths and groups have their escapes",
    ),
    invalid: "close",
    does:
      "replaces the path; $1 to $9 are the groups of a path that is a regular expression, as all paths of the host then are",
  }),
  "use-regex": row({
    ...PATH_ROW,
    risk: "Low",
    scope: "host",
    value: BOOL,
    verdict: differs(
      "expressions must match in linear time: without lookaround, back references and repetitions of more than 16 times; requests of others get 500",
    ),
    isSame: (isOn) => !isOn,
    does: "makes all paths of the host regular expressions, whatever their case",
  }),
  "server-alias": row({
    ...PATH_ROW,
    risk: "High",
    scope: "host",
    value: listOf(/^[-\w.~^$[\](){}*+?|\\]+$/, ",", "hosts, separated by commas"),
    verdict: differs(
      "regular expressions are left out, a wildcard takes one label, of several hosts of an Ingress the first by name has the aliases, and HTTPS to an alias needs a TLS entry that lists it",
    ),
    does: "adds names to the host, for the paths of all Ingresses",
  }),
  "upstream-vhost": row({
    ...PATH_ROW,
    risk: "Low",
    value: HOST_TEMPLATE,
    verdict: differs("of variables, $host, $http_host, $best_http_host and $namespace are known"),
    invalid: "close",
    does: "sets Host of the request for the backend",
  }),
  "x-forwarded-prefix": row({
    ...PATH_ROW,
    risk: "Medium",
    value: FORWARDED_PREFIX,
    verdict: differs(
      "variables other than $1 to $9 are not known, and groups have escapes of what is not visible ASCII, outside of the profile nginx all",
    ),
    does: "sets X-Forwarded-Prefix of requests whose path is rewritten",
  }),
  "connection-proxy-header": row({
    ...PATH_ROW,
    risk: "Low",
    value: oneOf(["keep-alive", "close"]),
    verdict: differs(
      'the header itself is not sent; with "close", the connection is closed after the response; upgrades and HTTP/2 are not affected',
    ),
    does: "sets Connection of the request for the backend",
  }),
  "mirror-target": row({
    ...PATH_ROW,
    risk: "High",
    scope: "ingress",
    value: URL_TEMPLATE,
    does: "sends a copy of each request to this URL, and ignores the response",
  }),
  "mirror-host": row({
    ...PATH_ROW,
    risk: "High",
    scope: "ingress",
    value: TEMPLATE,
    isSame: isWithoutMirror,
    does: "sets Host of the copy",
  }),
  "mirror-request-body": row({
    ...PATH_ROW,
    risk: "Low",
    scope: "ingress",
    value: oneOf(["on", "off"]),
    isSame: isWithoutMirror,
    does: "says whether the copy has the body",
  }),
} satisfies Group;
