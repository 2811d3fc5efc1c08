/**
 * The command lines of `deno task dev` and `deno task explain`. In: arguments. Out: typed options,
 * a help text, or what is wrong. Both take the flags that decide what is served, so that one
 * explains what the other does.
 */
import type { PathOptions } from "../shared/path/canonical_path.ts";
import { acceptCheck, namesOf, parseDefaultBackend } from "../controller/cli/option_values.ts";
import { isDnsName } from "../controller/base/names.ts";
import type { Address } from "../shared/net/address.ts";
import { LOG_LEVELS, type LogLevel } from "../shared/log.ts";
import { isToken, parseRequestedHeader } from "../shared/path/requested_url.ts";
import { defineOptions, parseOptions, type Program } from "../shared/options.ts";
import type { PlanOptions } from "./plan.ts";
import { parseServiceMapping, type ServiceMapping } from "./service_mapping.ts";
import { NPX, START_WITH_NETWORK } from "./start_command.ts";

export const DEV_PROGRAM: Program = {
  name: "deno task dev",
  summary: "Serves the Ingresses of a folder on this machine, without a cluster.",
  positionals: {
    name: "DIR…",
    help: "Folders or files of Kubernetes YAML or JSON. Without one: examples.",
    min: 0,
    max: 1000,
  },
};

export const EXPLAIN_PROGRAM: Program = {
  name: "deno task explain",
  summary: "Says which route a URL takes, and why.",
  positionals: {
    name: "DIR… URL",
    help: "Folders or files of Kubernetes YAML or JSON, then one URL: " +
      "https://app.example.com/path.",
    min: 2,
    max: 1000,
  },
};

/** What decides which routes there are. */
const PLAN_OPTIONS = defineOptions({
  ingressClass: {
    type: "string",
    value: "NAME",
    repeatable: true,
    check: (value) => isDnsName(value) ? null : "the name of an IngressClass",
    help: "Serves Ingresses of this class too. Those of class pingress and those without a class " +
      "always are.",
  },
  map: {
    type: "string",
    value: "NAMESPACE/SERVICE[:PORT]=HOST:PORT",
    repeatable: true,
    check: (value) => {
      const mapping = parseServiceMapping(value);
      return typeof mapping === "string" ? mapping : null;
    },
    help:
      "Sends a Service, or one of its ports, to a program of yours: default/web=127.0.0.1:3000. " +
      "Goes before the annotation dev.pingress.io/endpoint.",
  },
  allowExternalName: {
    type: "boolean",
    reason: "such a Service makes this machine dial any name that a manifest holds",
    help:
      "Lets a Service of type ExternalName be a backend. deno task dev may reach this machine " +
      `only, so start it with ${START_WITH_NETWORK} --allow-external-name (${NPX} in place of deno ` +
      "where it is not installed); explain dials nothing and needs no more.",
  },
  defaultBackend: {
    type: "string",
    value: "NAMESPACE/SERVICE:PORT",
    check: (value) => parseDefaultBackend(value) === null ? "of the form default/web:80" : null,
    help: "Gets the requests that no Ingress takes, in place of a 404.",
  },
  acceptUnsupported: {
    type: "string",
    value: "NAME,…",
    repeatable: true,
    check: acceptCheck,
    help: "Serves Ingresses with these annotations of ingress-nginx, such as limit-rps, without " +
      "what they ask for. Without it their paths answer 503.",
  },
  allowAcceptUnsupportedAnnotation: {
    type: "boolean",
    reason: "owners of Ingresses may otherwise drop protection that the operator relies on",
    help: "Lets an Ingress name such annotations itself, by pingress.io/accept-unsupported.",
  },
});

const SLASH_OPTIONS = defineOptions({
  mergeSlashes: {
    type: "boolean",
    reason: "that of the proxies",
    help: "Reads the path as proxies with --merge-slashes do.",
  },
  refuseEscapedSlashes: {
    type: "boolean",
    reason: "that of the proxies",
    help: "Reads the path as proxies with --refuse-escaped-slashes do.",
  },
});

export const DEV_OPTIONS = defineOptions({
  listenHttp: {
    type: "address",
    repeatable: true,
    default: { hostname: "127.0.0.1", port: 8080 },
    reason: "only this machine can reach it",
    help: "Takes HTTP requests on this address; port 0 is any free one. Given once or more, it " +
      "replaces the default.",
  },
  listenHttps: {
    type: "address",
    repeatable: true,
    default: { hostname: "127.0.0.1", port: 8443 },
    reason: "only this machine can reach it",
    help:
      "Takes HTTPS requests on this address, with the Secrets' certificates and, for hosts that " +
      "have none, with ones made here. Given once or more, it replaces the default.",
  },
  sslRedirect: {
    type: "boolean",
    reason: "a name that leads nowhere but here is easier to try without TLS",
    help: "Answers plain HTTP to hosts that have a certificate, be it one made here, with 308 to " +
      "HTTPS, as the proxy does elsewhere to hosts with a certificate of their own.",
  },
  admin: {
    type: "address",
    default: { hostname: "127.0.0.1", port: 9090 },
    help: "Serves /healthz, /readyz and /ca.crt on this address.",
  },
  ...SLASH_OPTIONS,
  ...PLAN_OPTIONS,
  logLevel: {
    type: "choice",
    choices: LOG_LEVELS,
    default: "warn",
    reason: "the table and the problems are printed anyway",
    help: "Writes the proxy's events of this level and above.",
  },
});

export const EXPLAIN_OPTIONS = defineOptions({
  method: {
    type: "string",
    value: "METHOD",
    default: "GET",
    reason: "that of curl",
    check: (value) => isToken(value) ? null : "a method such as POST",
    help: "Explains a request with this method.",
  },
  header: {
    type: "string",
    value: "'NAME: VALUE'",
    repeatable: true,
    check: (value) => parseRequestedHeader(value) === null ? "of the form 'X-Beta: yes'" : null,
    help: "Explains a request with this header, written as for curl.",
  },
  ...SLASH_OPTIONS,
  sslRedirect: {
    type: "boolean",
    reason: "that of deno task dev",
    help:
      "Shows the redirect to HTTPS as deno task dev --ssl-redirect makes it: also of hosts whose " +
      "certificate is made there. That of hosts with a certificate of their own is always shown.",
  },
  ...PLAN_OPTIONS,
});

export interface DevOptions {
  /** Folders and files. */
  readonly paths: readonly string[];
  readonly listenHttp: readonly Address[];
  readonly listenHttps: readonly Address[];
  readonly sslRedirect: boolean;
  readonly pathOptions: PathOptions;
  readonly admin: Address;
  readonly plan: PlanOptions;
  readonly logLevel: LogLevel;
}

export interface ExplainOptions {
  readonly paths: readonly string[];
  readonly url: string;
  readonly method: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly pathOptions: PathOptions;
  readonly sslRedirect: boolean;
  readonly plan: PlanOptions;
}

export type Parsed<T> =
  | { readonly kind: "ok"; readonly options: T }
  | { readonly kind: "help" | "error"; readonly text: string };

/** Never throws for what a user wrote. */
export function parseDevOptions(args: readonly string[]): Parsed<DevOptions> {
  const parsed = parseOptions(DEV_PROGRAM, DEV_OPTIONS, args);
  if (parsed.kind !== "ok") return parsed;
  const { options, positionals } = parsed;
  return {
    kind: "ok",
    options: {
      paths: positionals.length === 0 ? ["examples"] : positionals,
      listenHttp: options.listenHttp,
      listenHttps: options.listenHttps,
      sslRedirect: options.sslRedirect,
      pathOptions: toPathOptions(options),
      admin: options.admin,
      plan: toPlanOptions(options),
      logLevel: options.logLevel,
    },
  };
}

/** Never throws for what a user wrote. */
export function parseExplainOptions(args: readonly string[]): Parsed<ExplainOptions> {
  const parsed = parseOptions(EXPLAIN_PROGRAM, EXPLAIN_OPTIONS, args);
  if (parsed.kind !== "ok") return parsed;
  const { options, positionals } = parsed;
  return {
    kind: "ok",
    options: {
      paths: positionals.slice(0, -1),
      url: positionals[positionals.length - 1],
      method: options.method,
      headers: options.header.flatMap((text) => {
        const header = parseRequestedHeader(text);
        return header === null ? [] : [header];
      }),
      pathOptions: toPathOptions(options),
      sslRedirect: options.sslRedirect,
      plan: toPlanOptions(options),
    },
  };
}

function toPlanOptions(options: {
  readonly ingressClass: readonly string[];
  readonly map: readonly string[];
  readonly allowExternalName: boolean;
  readonly defaultBackend: string | undefined;
  readonly acceptUnsupported: readonly string[];
  readonly allowAcceptUnsupportedAnnotation: boolean;
}): PlanOptions {
  return {
    ingressClasses: options.ingressClass,
    mappings: options.map.map(parseServiceMapping)
      .filter((mapping): mapping is ServiceMapping => typeof mapping !== "string"),
    allowExternalName: options.allowExternalName,
    acceptUnsupported: options.acceptUnsupported.flatMap(namesOf),
    allowAcceptUnsupportedAnnotation: options.allowAcceptUnsupportedAnnotation,
    defaultBackend: options.defaultBackend === undefined
      ? null
      : parseDefaultBackend(options.defaultBackend),
  };
}

function toPathOptions({ mergeSlashes, refuseEscapedSlashes }: PathOptions): PathOptions {
  return { mergeSlashes, refuseEscapedSlashes };
}
