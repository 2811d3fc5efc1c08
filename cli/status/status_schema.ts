/** The JSON of `status`. In: nothing. Out: its schema, from which `docs/schemas/status.json` is written. */
import Type from "typebox";
import { closed, nullable, TEXT, TEXTS, VERSION } from "../json_parts.ts";

const COUNT = Type.Integer({ minimum: 0 });

const SERVED = closed({
  kind: Type.Enum(["Ingress", "Gateway"]),
  namespace: TEXT,
  name: TEXT,
  hosts: Type.Array(TEXT, { description: "As written; * for a rule without a host." }),
  backends: closed({
    ready: nullable(COUNT, "Services with a ready endpoint; null where they cannot be read."),
    total: COUNT,
    readyEndpoints: nullable(COUNT),
    endpoints: nullable(COUNT),
  }, "Services that it names; those of a Gateway are of its HTTPRoutes."),
  certificate: nullable(
    closed({
      secret: Type.String({ description: "NAMESPACE/NAME." }),
      days: nullable(Type.Integer(), "Negative once it has expired; null where it is not known."),
      missing: nullable(
        Type.Boolean(),
        "Whether no certificate is served from the Secret; null where it is not known.",
      ),
    }),
    "The certificate that ends first; null without TLS.",
  ),
  problems: nullable(
    Type.Array(closed({
      object: Type.String({
        description: "Ingress NAMESPACE/NAME; for a Gateway also HTTPRoutes.",
      }),
      reason: Type.String({ description: "The code of the problem: ServiceNotFound." }),
      severity: nullable(Type.Enum(["error", "warning"]), "Null where only an Event is known."),
      message: TEXT,
    })),
    "Null where they cannot be read.",
  ),
  addresses: TEXTS,
});

const PROXY = closed({
  name: TEXT,
  node: nullable(TEXT),
  ready: Type.Boolean(),
  inSync: nullable(Type.Boolean(), "Null where it is not known."),
  reason: nullable(TEXT, "Why it is not in sync."),
  version: nullable(TEXT),
});

const CONTROLLER = closed({
  name: TEXT,
  ready: Type.Boolean(),
  leads: Type.Boolean(),
  proxies: nullable(COUNT, "Connected proxies; null where it is not known."),
  version: nullable(TEXT),
});

export const STATUS_JSON = closed({
  v: VERSION,
  server: Type.String({ description: "Address of the API server." }),
  namespace: nullable(TEXT, "Of what is served; null for all namespaces."),
  served: Type.Array(SERVED),
  listed: Type.Boolean({
    description:
      "Whether Ingresses and Gateways could be listed; if not, some are missing in served.",
  }),
  missingNamespace: nullable(
    closed({ name: TEXT, meant: nullable(TEXT, "One with nearly the same name.") }),
    "The namespace that is asked for and does not exist; null where it does.",
  ),
  proxies: Type.Array(PROXY),
  controllers: Type.Array(CONTROLLER),
  unread: Type.Array(
    closed({ message: TEXT, remedy: TEXT }),
    { description: "What could not be read." },
  ),
}, "pingress status -o json");
