/**
 * What texts of flags look like, for JSON Schema. In: grammars and names of the programs. Out: a pattern for
 * each flag with a check of its own, and for addresses. They say what a pattern can say of a check, in the
 * syntax of RE2, in which Helm reads them; the program checks the rest.
 */
import { REFUSABLE_KEYS } from "../../controller/translate/config_map/table.ts";
import { REFUSABLE } from "../../controller/translate/annotations/nginx/refusals.ts";
import { ZONE } from "../../proxy/cli/option_specs.ts";
import { ALL_FIELDS } from "../../proxy/telemetry/access_log/options.ts";

const DNS_LABEL = "[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?";
/** Labels of any length, as the API server has them. */
const PART = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const NAME = `${PART}(\\.${PART})*`;
const LABEL_VALUE = "[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?";
const KEY = `(${NAME}/)?${LABEL_VALUE}`;

const OCTET = "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])";
const IPV4 = `${OCTET}(\\.${OCTET}){3}`;
const GROUP = "[0-9a-fA-F]{1,4}";
/** Eight groups, or fewer and two colons; an IPv4 address may be the end, and a zone stand behind. */
const IPV6 = `((${GROUP}:){7}${GROUP}|(${GROUP}:){6}${IPV4}|` +
  `(${GROUP}(:${GROUP}){0,6})?::(${GROUP}(:${GROUP}){0,6}(:${IPV4})?|${IPV4})?)(%[^\\]/\\s]+)?`;
const HIGH_PORTS = "6553[0-5]|655[0-2][0-9]|65[0-4][0-9]{2}|6[0-4][0-9]{3}";
/** Up to 65535. */
const PORT = `(${HIGH_PORTS}|[0-5][0-9]{4}|[0-9]{1,4})`;
/** From 1 on, without zeros in front. */
const RANGE_PORT = `(${HIGH_PORTS}|[1-5][0-9]{4}|[1-9][0-9]{0,3})`;
const HOST = `(${IPV4}|${IPV6}|${NAME})`;

/** `0.0.0.0:80`, `[::]:443`, `:8080`. */
export const ADDRESS_PATTERN = `^(\\[${IPV6}\\]|(${IPV4})?|localhost):${PORT}$`;
/** `10.0.0.0/8`, `fd00::1`. */
export const CIDR_PATTERN = `^(${IPV4}(/0*(3[0-2]|[12]?[0-9]))?|` +
  `${IPV6}(/0*(12[0-8]|1[01][0-9]|[1-9]?[0-9]))?)$`;

/** In a URL, what ends in a number is an IPv4 address (WHATWG URL, "ends in a number checker"). */
const URL_HOST =
  `(\\[${IPV6}\\]|${IPV4}|([A-Za-z0-9_-]+\\.)*[A-Za-z0-9_-]*[A-Za-z_-][A-Za-z0-9_-]*\\.?)`;

export const PATTERNS: Readonly<Record<string, string>> = {
  watchNamespace: `^${DNS_LABEL}$`,
  ingressClass: `^${NAME}$`,
  nginxClass: `^${NAME}$`,
  defaultBackend: `^${DNS_LABEL}/${DNS_LABEL}:([-a-z0-9]*[a-z][-a-z0-9]*|0{0,4}${RANGE_PORT})$`,
  defaultSslCertificate: `^${DNS_LABEL}/${NAME}$`,
  configmap: `^${DNS_LABEL}/${NAME}$`,
  listenRange: `^${RANGE_PORT}-${RANGE_PORT}$`,
  acceptUnsupported: listOf([...REFUSABLE, ...REFUSABLE_KEYS]),
  nodeSelector: `^${KEY}=(${LABEL_VALUE})?(,${KEY}=(${LABEL_VALUE})?)*$`,
  serviceAnnotation: `^${KEY}=`,
  proxyPriorityClass: `^${NAME}$`,
  publishAddress: `^${HOST}$`,
  streamName: `^${HOST}$`,
  clusterDomain: `^${NAME}$`,
  controller: `^https://${URL_HOST}(:[0-9]{1,5})?/?$`,
  zone: ZONE.source,
  accessLogFields: listOf(ALL_FIELDS),
  otlpEndpoint: `^[Hh][Tt][Tt][Pp][Ss]?://${URL_HOST}(:${PORT})?(/[^?#\\s]*)?$`,
  traceServiceName: "^[!-~]{1,255}$",
};

/** These names between commas, with blanks around them. */
function listOf(names: readonly string[]): string {
  const sorted = [...new Set(names)].sort().map((name) =>
    name.replace(/[.+*?^$()[\]{}|\\]/g, "\\$&")
  );
  const name = `\\s*(${sorted.join("|")})\\s*`;
  return `^${name}(,${name})*$`;
}
