/**
 * Parsers of what tenants write into objects: text of annotations, hosts, paths and Secrets. In:
 * nothing. Out: rows of the table. Lists have a file of their own, `tenant_lists.ts`.
 */
import { credentialsOf, secretFileName } from "../../shared/credentials/credentials.ts";
import { readHtpasswd } from "../../shared/credentials/htpasswd.ts";
import { readCredentialsId } from "../../controller/translate/model/credentials_name.ts";
import { parseHostPattern } from "../../shared/host/host_pattern.ts";
import { MAX_ROUTE_PATH, readRoutePath } from "../../shared/snapshot/route_path.ts";
import { isResolvableName } from "../../shared/snapshot/leaves.ts";
import { readBackend } from "../../controller/translate/ingress/backend.ts";
import { readBalance } from "../../controller/translate/backends/balance.ts";
import {
  appProtocolMistake,
  readAppProtocol,
} from "../../controller/translate/backends/app_protocol.ts";
import { readGrpcWeb } from "../../controller/translate/backends/grpc_web.ts";
import { explainHost, readHost, readRuleHost } from "../../controller/translate/model/host.ts";
import { parseClaims } from "../../controller/translate/hosts/host_claims.ts";
import { readIdentity } from "../../controller/base/identity.ts";
import { regexLocation, startOf } from "../../controller/translate/annotations/nginx/location.ts";
import {
  inBytes,
  readHeaderPattern,
  readPcre,
} from "../../controller/translate/annotations/nginx/pcre_pattern.ts";
import { writtenOut } from "../../shared/path/pattern_size.ts";
import { readIngress } from "../../controller/translate/ingress/ingress.ts";
import { readSharesWith } from "../../controller/translate/ingress/shared_hosts.ts";
import { quote } from "../../controller/base/json.ts";
import {
  isLocalName,
  looksLikeAddress,
  namespacesInName,
} from "../../controller/translate/model/external_name.ts";
import { isDnsLabel, isDnsName, isPortName } from "../../controller/base/names.ts";
import { NamespaceReader } from "../../controller/translate/hosts/namespace_facts.ts";
import {
  accepterOf,
  readAccepted,
} from "../../controller/translate/annotations/own_annotations.ts";
import {
  explainPath,
  looksLikePattern,
  readPath,
  readPathType,
} from "../../controller/translate/ingress/path.ts";
import { recordProblems } from "../../controller/base/problems.ts";
import { NginxAnnotations } from "../../controller/translate/annotations/nginx/nginx_annotations.ts";
import { isInvalidSwitch } from "../../controller/translate/annotations/nginx/annotations.ts";
import { CANARY } from "../../controller/translate/annotations/nginx/rows/canary.ts";
import {
  isCanary,
  readProtocolWish,
  readRefusals,
} from "../../controller/translate/annotations/nginx/refusals.ts";
import { readAccess } from "../../controller/translate/annotations/nginx/access.ts";
import {
  hostOfAuthUrl,
  readAuthenticator,
  readExternal,
  refuseAuthenticator,
  serviceOfAuthUrl,
} from "../../controller/translate/annotations/nginx/external.ts";
import { NO_GLOBALS } from "../../controller/translate/model/global_settings.ts";
import { MAX_URL, placeOf } from "../../controller/translate/annotations/nginx/rows/auth_url.ts";
import { parseTemplate } from "../../controller/translate/annotations/nginx/rows/template.ts";
import { SIZE, trimmed } from "../../controller/translate/annotations/nginx/rows/value.ts";
import { BY_NAME, NGINX_PREFIX, ROWS } from "../../controller/translate/annotations/nginx/table.ts";
import { type Parser, textParser } from "./parser.ts";
import { SECRET_BYTES } from "./secret_parsers.ts";
import type { Frame } from "./pumps.ts";
import {
  LIST_PUMPS,
  TYPED_FRAMES,
  TYPED_PUMPS,
  VALUE_FRAMES,
  VALUE_PUMPS,
} from "./tenant_pumps.ts";

/** Of all annotations of an object together (k8s.io/apimachinery, TotalAnnotationSizeLimitB). */
const ANNOTATION_BYTES = 256 * 1024;
/** By the operator; owners of Ingresses may. */
const NOTHING_ACCEPTED = { acceptUnsupported: [], allowAcceptUnsupportedAnnotation: true };
/** The API server bounds hosts by 253 characters, and paths by the size of the object alone. */
const HOST_BYTES = 253;
const PATH_BYTES = 256 * 1024;
/** Of a port's appProtocol, which is a qualified name. */
const PROTOCOL_BYTES = 316;

/** Annotations whose value is read further than whether it says anything. */
const READ_FURTHER = [
  "whitelist-source-range",
  "proxy-body-size",
  "proxy-ssl-protocols",
  "proxy-ssl-ciphers",
  "proxy-ssl-name",
  "proxy-next-upstream",
  "rewrite-target",
  "backend-protocol",
  "canary",
  ...["auth-url", "auth-signin", "auth-signin-redirect-param", "auth-request-redirect"],
  ...["auth-response-headers", "auth-cache-key", "auth-cache-duration"],
];

const SPEC = { rules: [{ host: "a.test", http: { paths: [{ path: "/", pathType: "Prefix" }] } }] };

type TextReader = readonly [
  bytes: number,
  read: (text: string) => unknown,
  ...frames: readonly Frame[],
];

/** Parsers of one text of an object, each by the function that reads it. */
const TEXTS: Readonly<Record<string, TextReader>> = {
  "shared/host/host_pattern.ts parseHostPattern": [HOST_BYTES, parseHostPattern, ["a", ".a"]],
  "shared/snapshot/route_path.ts readRoutePath": [
    PATH_BYTES,
    (text) => readRoutePath("Prefix", text),
  ],
  "shared/credentials/htpasswd.ts readHtpasswd": [
    1024 * 1024,
    readHtpasswd,
    ["a:", "\n"],
    ["a:{SSHA}", "="],
    ["a:$5$rounds=", "$"],
    [":", ""],
  ],
  "shared/credentials/credentials.ts credentialsOf": [
    1024 * 1024,
    (text) => credentialsOf("a/b auth-file", "1", text),
  ],
  "shared/credentials/credentials.ts secretFileName": [
    1024 * 1024,
    secretFileName,
    ["#pingress ", "\n"],
  ],
  "controller/translate/model/credentials_name.ts readCredentialsId": [
    512,
    readCredentialsId,
    ["a/", " auth-file"],
  ],
  "controller/translate/ingress/path.ts readPath": [
    MAX_ROUTE_PATH,
    (text) => readPath(text, "Prefix", "nginx"),
    ["/", ""],
    ["/a", "/"],
  ],
  "controller/translate/annotations/nginx/location.ts regexLocation": [
    MAX_ROUTE_PATH,
    (text) => regexLocation(text, "nginx"),
    ["/(", ")"],
    ["/[", "]"],
    ["/a|(", "|"],
    ["/a{2}", "(?=a)"],
  ],
  "controller/translate/annotations/nginx/location.ts startOf": [
    MAX_ROUTE_PATH,
    startOf,
    ["/|(", ")"],
    ["/(|)", "[a]"],
    ["/(|)", "(?i)"],
    ["/(|)[", "a"],
    ["/(|)(?<", "a"],
  ],
  "controller/translate/annotations/nginx/pcre_pattern.ts readPcre": [
    MAX_ROUTE_PATH,
    (text) => readPcre(text, "nginx"),
    ["/(", ")"],
    ["/[", "]"],
    ["/", "{2}"],
  ],
  "controller/translate/annotations/nginx/pcre_pattern.ts inBytes": [MAX_ROUTE_PATH, inBytes],
  "controller/translate/annotations/nginx/pcre_pattern.ts readHeaderPattern": [
    MAX_ROUTE_PATH,
    (text) => readHeaderPattern(text, { ignoreCase: true }),
    ["(", ")"],
    ["[", "]"],
    ["", "{2}"],
  ],
  "shared/path/pattern_size.ts writtenOut": [MAX_ROUTE_PATH, writtenOut, ["(", "){2}"]],
  "controller/translate/annotations/nginx/rows/value.ts trimmed": [
    ANNOTATION_BYTES,
    (text) => trimmed(text, SIZE),
    ["\n", ""],
    [" ", "\n"],
  ],
  "controller/translate/ingress/path.ts readPathType": [
    PATH_BYTES,
    (text) => readPathType(text),
  ],
  "controller/translate/ingress/path.ts explainPath": [
    PATH_BYTES,
    (text) => explainPath(text, "is bad"),
  ],
  "controller/translate/ingress/path.ts looksLikePattern": [PATH_BYTES, looksLikePattern, [
    "/",
    "",
  ]],
  "controller/translate/model/host.ts readHost": [ANNOTATION_BYTES / 4, readHost, ["[", "]"], [
    "a",
    ":80a",
  ]],
  "controller/translate/model/host.ts readRuleHost": [HOST_BYTES, readRuleHost, ["a", ".a"]],
  "controller/translate/model/host.ts explainHost": [
    ANNOTATION_BYTES,
    (text) => explainHost(text, "is bad"),
  ],
  "shared/snapshot/leaves.ts isResolvableName": [HOST_BYTES, isResolvableName, ["a", ".a"]],
  "controller/base/names.ts isDnsLabel": [63, isDnsLabel, ["a", "_"]],
  "controller/base/names.ts isDnsName": [253, isDnsName, ["a", "_"]],
  "controller/translate/model/external_name.ts isLocalName": [HOST_BYTES, isLocalName, ["a", ".a"]],
  "controller/translate/model/external_name.ts looksLikeAddress": [
    HOST_BYTES,
    looksLikeAddress,
    ["0", ".0"],
    ["0x", "0"],
  ],
  "controller/translate/model/external_name.ts namespacesInName": [
    HOST_BYTES,
    namespacesInName,
    ["a", ".a"],
    ["-0", ".a.pod"],
  ],
  "controller/base/names.ts isPortName": [63, isPortName, ["a", "_"]],
  "controller/base/json.ts quote": [ANNOTATION_BYTES, quote, ["-----BEGIN", ""]],
  "controller/translate/backends/app_protocol.ts readAppProtocol": [
    PROTOCOL_BYTES,
    readAppProtocol,
  ],
  "controller/translate/backends/app_protocol.ts appProtocolMistake": [
    PROTOCOL_BYTES,
    appProtocolMistake,
  ],
};

function annotated(name: string, text: string) {
  return { metadata: { name: "a", namespace: "a", annotations: { [name]: text } }, spec: SPEC };
}

/** A function that reads an annotation of its own, and reports. */
function reportingParser(
  name: string,
  functions: readonly string[],
  read: (object: object, problems: Parameters<Parameters<typeof recordProblems>[0]>[0]) => unknown,
): Parser {
  return textParser({
    name: `annotation ${name}`,
    functions,
    bytes: ANNOTATION_BYTES,
    only: LIST_PUMPS,
    read: (text) => {
      const object = annotated(name, text);
      return () => recordProblems((problems) => read(object, problems));
    },
  });
}

export const TENANT_PARSERS: readonly Parser[] = [
  ...Object.entries(TEXTS).map(([name, [bytes, read, ...frames]]) =>
    textParser({
      name: name.replace(/.* /, ""),
      functions: [name],
      bytes,
      frames,
      only: VALUE_PUMPS,
      read: (text) => () => read(text),
    })
  ),
  textParser({
    name: "annotations of ingress-nginx whose value is read",
    functions: ["controller/translate/annotations/nginx/annotations.ts isInvalidSwitch"],
    bytes: Math.floor(ANNOTATION_BYTES / READ_FURTHER.length),
    frames: VALUE_FRAMES,
    only: VALUE_PUMPS,
    read: (text) => {
      const annotations = Object.fromEntries(
        READ_FURTHER.map((name) => [NGINX_PREFIX + name, text]),
      );
      return () => {
        const read = new NginxAnnotations(annotations, SPEC);
        readRefusals(read, "nginx");
        readProtocolWish(read);
        isCanary(read);
        isInvalidSwitch(CANARY.canary, text);
      };
    },
  }),
  textParser({
    name: "external authentication of ingress-nginx",
    functions: [
      "controller/translate/annotations/nginx/access.ts readAccess",
      ...[
        ...["hostOfAuthUrl", "readAuthenticator", "readExternal", "refuseAuthenticator"],
        "serviceOfAuthUrl",
      ].map((name) => `controller/translate/annotations/nginx/external.ts ${name}`),
      "controller/translate/annotations/nginx/rows/auth_url.ts placeOf",
    ],
    bytes: MAX_URL,
    frames: [
      ...["https://$host/a?b=", "http://auth.default.svc/", "http://a"].map((
        start,
      ): Frame => [start, ""]),
      ["200 ", "5m"],
    ],
    only: VALUE_PUMPS,
    pumps: TYPED_PUMPS,
    read: (text) => {
      const annotations = Object.fromEntries(
        READ_FURTHER.map((name) => [NGINX_PREFIX + name, text]),
      );
      return () => {
        // Each has a memo of its own, which would answer for short texts.
        const read = new NginxAnnotations(annotations, SPEC);
        readAccess(read, "default", NO_GLOBALS);
        readExternal(read, "default", NO_GLOBALS);
        readAuthenticator(read, "default", NO_GLOBALS);
        hostOfAuthUrl(text);
        placeOf(text, "http");
        serviceOfAuthUrl(text);
        refuseAuthenticator(read, "default");
      };
    },
  }),
  textParser({
    name: "a value of ingress-nginx by each type",
    functions: ["controller/translate/annotations/nginx/rows/template.ts parseTemplate"],
    bytes: ANNOTATION_BYTES,
    frames: TYPED_FRAMES,
    only: VALUE_PUMPS,
    pumps: TYPED_PUMPS,
    read: (text) => {
      const types = new Set([...ROWS.values()].map(({ value }) => value));
      return () => {
        for (const type of types) type.read(text);
        parseTemplate(text);
      };
    },
  }),
  textParser({
    name: "all annotations of ingress-nginx",
    functions: [
      "controller/base/recent_values.ts RecentValues.get",
      "controller/base/recent_values.ts RecentValues.set",
      "controller/base/text_memo.ts TextMemo.of",
      "controller/translate/annotations/nginx/access.ts readAccess",
      "controller/translate/annotations/nginx/access.ts readAccessRefusals",
      "controller/translate/annotations/nginx/access.ts readCertificateRefusals",
      "controller/translate/annotations/nginx/access.ts readRequiredSecret",
      "controller/translate/annotations/nginx/annotations.ts reportNginxAnnotations",
      "controller/translate/annotations/nginx/annotations.ts reportWrongPrefixes",
      "controller/translate/annotations/nginx/backend_wish.ts readBackendWish",
      "controller/translate/annotations/nginx/backend_wish.ts readFallback",
      "controller/translate/annotations/nginx/nginx_annotations.ts NginxAnnotations.isHarmless",
      "controller/translate/annotations/nginx/nginx_annotations.ts NginxAnnotations.isReplaced",
      "controller/translate/annotations/nginx/nginx_annotations.ts NginxAnnotations.isSet",
      "controller/translate/annotations/nginx/nginx_annotations.ts NginxAnnotations.read",
      "controller/translate/annotations/nginx/nginx_annotations.ts NginxAnnotations.textOf",
      "controller/translate/annotations/nginx/nginx_annotations.ts new NginxAnnotations",
      "controller/translate/annotations/nginx/refusals.ts fieldOfAnnotation",
      "controller/translate/annotations/nginx/request_host.ts readRequestHost",
      "controller/translate/annotations/nginx/route_settings.ts readRouteSettings",
      "controller/translate/annotations/nginx/rows/access.ts admitAll",
      "controller/translate/annotations/nginx/server_names.ts readOtherNames",
      "controller/translate/annotations/nginx/table.ts isOff",
      "shared/net/network_set.ts canonicalNetwork",
      "controller/translate/annotations/own_annotations.ts reportOwnAnnotations",
      "controller/translate/ingress/ingress.ts readIngress",
      "controller/translate/model/other_name.ts otherNames",
      "controller/translate/model/other_name.ts wwwName",
      "controller/base/identity.ts readIdentity",
      "controller/base/identity.ts refOf",
      "controller/base/identity.ts keyOf",
      "controller/base/identity.ts creationTime",
    ],
    bytes: Math.floor(ANNOTATION_BYTES / BY_NAME.size),
    only: VALUE_PUMPS,
    read: (text) => {
      const annotations = Object.fromEntries(
        [...BY_NAME.keys()].map((name) => [NGINX_PREFIX + name, text]),
      );
      const object = { metadata: { name: "a", namespace: "a", annotations }, spec: SPEC };
      const identity = readIdentity("Ingress", object)!;
      return () => readIngress(identity, object);
    },
  }),
  reportingParser(
    "pingress.io/share-host-with",
    ["controller/translate/ingress/shared_hosts.ts readSharesWith"],
    (object, problems) =>
      readSharesWith(annotationsOf(object), problems.about(readIdentity("Ingress", object)!.ref)),
  ),
  reportingParser(
    "pingress.io/accept-unsupported",
    [
      "controller/translate/annotations/own_annotations.ts accepterOf",
      "controller/translate/annotations/own_annotations.ts readAccepted",
    ],
    (object) => accepterOf("limit-rps", readAccepted(annotationsOf(object)), NOTHING_ACCEPTED),
  ),
  reportingParser(
    "pingress.io/hosts",
    ["controller/translate/hosts/namespace_facts.ts NamespaceReader.read"],
    (object) => new NamespaceReader().read([object]),
  ),
  reportingParser(
    "pingress.io/balance",
    [],
    (object, problems) =>
      readBalance({ identity: readIdentity("Service", object)!, object }, problems),
  ),
  reportingParser(
    "pingress.io/grpc-web",
    [],
    (object, problems) =>
      readGrpcWeb({ identity: readIdentity("Service", object)!, object }, problems),
  ),
  reportingParser(
    "with the name of a Service",
    [
      "controller/translate/ingress/backend.ts readBackend",
      "controller/translate/model/backend_ref.ts upstreamId",
    ],
    (object, problems) => {
      const name = annotationsOf(object)["with the name of a Service"];
      const report = problems.about(readIdentity("Ingress", object)!.ref);
      readBackend({ service: { name, port: { name } } }, "a", null, "spec", report);
    },
  ),
  textParser({
    name: "recorded claims to hosts",
    functions: ["controller/translate/hosts/host_claims.ts parseClaims"],
    bytes: SECRET_BYTES,
    frames: [['{"version":1,"hosts":[', "{}]}"], ['{"version":1,"hosts":[{"host":"', '"}]}']],
    only: ["{},", '{"host":"a.a","claims":[{}]},', "[", "0,", "a", '\\"', " "],
    read: (text) => () => parseClaims(text),
  }),
];

function annotationsOf(object: object): Readonly<Record<string, string>> {
  return (object as ReturnType<typeof annotated>).metadata.annotations;
}
