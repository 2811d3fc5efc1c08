/** Annotations about how backends are contacted: protocol, TLS, and the Service's own address. */
import { always, differs, type Group, NOT_YET, OFF_BY_DEFAULT, row } from "./row.ts";
import { BOOL, int, listOf, objectName, ON_OFF, oneOf, text, type ValueType } from "./value.ts";

const BACKEND = { scope: "path", invalid: "default", protects: false, verdict: NOT_YET } as const;
const SECURE = { ...BACKEND, invalid: "close", protects: true } as const;

const LISTED: Readonly<ValueType<readonly string[]>> = listOf(
  ["SSLv2", "SSLv3", "TLSv1", "TLSv1.1", "TLSv1.2", "TLSv1.3"],
  " ",
  'versions such as "TLSv1.2 TLSv1.3"',
);

/** With none of those that are spoken here, there is nothing that the list allows. */
const TLS_VERSIONS: ValueType<readonly string[]> = {
  ...LISTED,
  what: 'versions with "TLSv1.2" or "TLSv1.3"',
  read: (value) => {
    const versions = LISTED.read(value);
    return versions?.some((version) => version === "TLSv1.2" || version === "TLSv1.3")
      ? versions
      : null;
  },
};

/** As certificates name hosts. */
const HOST_NAME =
  /^(?=.{1,253}$)[a-z\d](?:[-a-z\d]{0,61}[a-z\d])?(?:\.[a-z\d](?:[-a-z\d]{0,61}[a-z\d])?)*$/i;

export const BACKENDS = {
  // Compared with the Service's port (`refusals.ts`), too: TLS that it says must not be weakened.
  "backend-protocol": row({
    ...SECURE,
    risk: "Low",
    // No word turns it off: what is no protocol may have been meant for one with TLS.
    value: {
      ...oneOf(["HTTP", "HTTPS", "GRPC", "GRPCS", "AUTO_HTTP", "FCGI"], { ignoreCase: true }),
      hasOff: false,
    },
    verdict: differs(
      "AUTO_HTTP and FCGI close the paths, as do HTTP and GRPC for a Service whose appProtocol says TLS; " +
        "with HTTPS, the backend may choose HTTP/2; gRPC requests get errors as a status of gRPC",
    ),
    isSame: (protocol) => protocol !== "HTTPS",
    // `readProtocolWish` refuses what is not supported of these, with or without the profile.
    isHarmless: (protocol) => ["HTTP", "AUTO_HTTP", "FCGI"].includes(protocol),
    does: "sets the protocol of the backend, whose certificate is not verified by default",
  }),
  "proxy-http-version": row({
    ...BACKEND,
    risk: "Low",
    value: oneOf(["1.0", "1.1"]),
    verdict: differs(
      'with "1.0", requests are HTTP/1.1, on connections that are closed after the response',
    ),
    isSame: (version) => version === "1.1",
    does: "sets the version of HTTP to the backend",
  }),
  "service-upstream": row({
    ...BACKEND,
    risk: "Low",
    scope: "service",
    value: BOOL,
    ...OFF_BY_DEFAULT,
    verdict: {
      kind: "refused",
      because: "requests go to endpoints, which are checked one by one; behind the address of a " +
        "Service, its EndpointSlices may lead anywhere",
      remedy: "Remove the annotation",
    },
    does: "sends requests to the Service's cluster address in place of its endpoints",
  }),
  "fastcgi-index": row({
    ...BACKEND,
    risk: "Medium",
    value: text(/^[-\w.~/:]+$/, "name of a file"),
    does: "sets the index file of a FastCGI backend",
  }),
  "fastcgi-params-configmap": row({
    ...BACKEND,
    risk: "Medium",
    value: objectName("ConfigMap"),
    does: "names the ConfigMap with parameters of a FastCGI backend",
  }),
} satisfies Group;

/** Of an Ingress; without it they count, too, unlike in ingress-nginx. */
const BESIDE_SECRET = "it also has an effect without proxy-ssl-secret";
const OF_HOST =
  "it holds for the paths of its Ingress alone, in ingress-nginx also for others of the host " +
  "unless its ConfigMap has proxy-ssl-location-only";

/**
 * Without the Secret, and without `backend-protocol`, which protects by itself, TLS is what the appProtocol of
 * the Service says: the backend is verified, over TLS 1.2 or later.
 */
const SECRET = ["proxy-ssl-secret"];

const OWN = "annotations pingress.io/upstream-tls-… of the Service take precedence";

export const BACKEND_TLS = {
  "proxy-ssl-secret": row({
    ...SECURE,
    risk: "Medium",
    value: objectName("Secret", { needsNamespace: true }),
    verdict: differs(`${OWN}; ${OF_HOST}`),
    does:
      "names the Secret with CAs and client certificate for the backend; a Secret that is missing, " +
      "or of another namespace, closes the paths, also for plain-text backends and redirects",
  }),
  "proxy-ssl-name": row({
    ...SECURE,
    protectsBeside: SECRET,
    risk: "High",
    value: text(HOST_NAME, "DNS name or IPv4 address, without variables"),
    verdict: differs(
      `${BESIDE_SECRET}; variables are not supported; an address may also be among those of the ` +
        "certificate; without the annotation, the name is SERVICE.NAMESPACE.svc, in ingress-nginx upstream_balancer",
    ),
    does: "sets the name that the backend's certificate is verified against",
  }),
  "proxy-ssl-server-name": row({
    ...SECURE,
    protectsBeside: SECRET,
    risk: "Low",
    value: ON_OFF,
    verdict: differs(BESIDE_SECRET),
    does: "sends the name to the backend in the TLS handshake; off by default",
  }),
  "proxy-ssl-verify": row({
    ...SECURE,
    protectsBeside: SECRET,
    risk: "Low",
    value: ON_OFF,
    verdict: differs(
      `${OWN}, and one whose appProtocol says TLS is verified unless proxy-ssl-secret is set; ` +
        'without ca.crt, "on" verifies with the public CAs',
    ),
    does: "verifies the backend's certificate; off by default",
  }),
  "proxy-ssl-verify-depth": row({
    ...SECURE,
    protectsBeside: SECRET,
    risk: "Low",
    value: int(0),
    verdict: differs("all intermediate certificates that the backend sends are counted"),
    does: "limits the intermediate certificates of the backend's chain; 1 by default, and for 0",
  }),
  "proxy-ssl-protocols": row({
    ...SECURE,
    protectsBeside: SECRET,
    risk: "Low",
    value: TLS_VERSIONS,
    verdict: differs(
      `versions before TLSv1.2 are never used; ${BESIDE_SECRET}; without the annotation, TLSv1.3 is used, too, ` +
        "in ingress-nginx TLSv1.2 alone",
    ),
    does: "lists the versions of TLS to the backend",
  }),
  "proxy-ssl-ciphers": row({
    ...SECURE,
    risk: "Medium",
    value: text(/^[A-Za-z\d+:_!@=, -]+$/, "list of ciphers, as OpenSSL writes it"),
    verdict: always(
      "TLS 1.3, and ECDHE with AES-GCM or ChaCha20-Poly1305 in TLS 1.2, are offered, where the list allows all of these",
    ),
    does: "lists the ciphers of TLS to the backend",
    isHarmless: allowsModernCiphers,
  }),
} satisfies Group;

/** What is never offered, so that leaving it out changes nothing. */
const NEVER_OFFERED: ReadonlySet<string> = new Set([
  ...["aNULL", "eNULL", "NULL", "ADH", "AECDH", "EXPORT", "EXP", "LOW", "MEDIUM", "MD5", "SHA1"],
  ...["SHA", "RC2", "RC4", "DES", "3DES", "IDEA", "SEED", "CAMELLIA", "ARIA", "PSK", "SRP", "DSS"],
  ...["kRSA", "kECDH", "kDHE", "DHE", "EDH", "AESCCM", "AESCCM8"],
]);

/** Each stands for all that is offered. */
const ALL_OFFERED: ReadonlySet<string> = new Set(["DEFAULT", "HIGH", "ALL", "ECDHE", "EECDH"]);

const OFFERED: readonly string[] = ["ECDSA", "RSA"].flatMap((key) => [
  ...[`ECDHE-${key}-AES128-GCM-SHA256`, `ECDHE-${key}-AES256-GCM-SHA384`],
  `ECDHE-${key}-CHACHA20-POLY1305`,
]);

/** Whether an OpenSSL list has all ciphers that are offered, so that none is used against it. */
function allowsModernCiphers(list: string): boolean {
  const words = list.split(/[:, ]/).filter((word) => word !== "" && !word.startsWith("@"));
  const left = words.filter((word) => /^[!-]/.test(word)).map((word) => word.slice(1));
  const taken = new Set(words.filter((word) => !/^[!+-]/.test(word)));
  return left.every((word) => NEVER_OFFERED.has(word)) &&
    ([...taken].some((word) => ALL_OFFERED.has(word)) ||
      OFFERED.every((cipher) => taken.has(cipher)));
}
