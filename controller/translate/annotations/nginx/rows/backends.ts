/** Annotations about how backends are contacted: protocol, TLS, and the Service's own address. */
import { always, type Group, instead, NOT_YET, row } from "./row.ts";
import { BOOL, int, listOf, objectName, ON_OFF, oneOf, text } from "./value.ts";

const BACKEND = { scope: "path", invalid: "default", protects: false, verdict: NOT_YET } as const;
const SECURE = { ...BACKEND, invalid: "close", protects: true } as const;

const PROTOCOLS = ["SSLv2", "SSLv3", "TLSv1", "TLSv1.1", "TLSv1.2", "TLSv1.3"] as const;

export const BACKENDS = {
  // Compared with the Service's port (`refusals.ts`), so that paths close where they differ.
  "backend-protocol": row({
    ...SECURE,
    risk: "Low",
    value: oneOf(["HTTP", "HTTPS", "GRPC", "GRPCS", "AUTO_HTTP", "FCGI"], { ignoreCase: true }),
    verdict: instead(
      "Write appProtocol at the Service's port: kubernetes.io/h2c for GRPC, grpcs for GRPCS, https " +
        "for HTTPS; for AUTO_HTTP say which; FastCGI is not spoken to backends",
    ),
    does: "sets the protocol of the backend",
  }),
  "proxy-http-version": row({
    ...BACKEND,
    risk: "Low",
    value: oneOf(["1.0", "1.1"]),
    verdict: instead(
      "Write appProtocol at the Service's port for HTTP/2; backends are spoken to in HTTP/1.1 without it",
    ),
    does: "sets the version of HTTP to the backend",
  }),
  "service-upstream": row({
    ...BACKEND,
    risk: "Low",
    scope: "service",
    value: BOOL,
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

export const BACKEND_TLS = {
  "proxy-ssl-secret": row({
    ...SECURE,
    risk: "Medium",
    value: objectName("Secret", { needsNamespace: true }),
    verdict: instead(
      "Annotate the Service with pingress.io/upstream-tls-ca and " +
        "pingress.io/upstream-tls-client-certificate",
    ),
    closedRemedy: "Annotate the Service with pingress.io/upstream-tls-ca and " +
      "pingress.io/upstream-tls-client-certificate, then remove the annotation",
    does: "names the Secret with CAs and client certificate for the backend",
  }),
  "proxy-ssl-name": row({
    ...SECURE,
    risk: "High",
    value: text(/^[-\w.~/:^$[\](){}*+?|&=\\]+$/, "name in a certificate"),
    verdict: instead("Annotate the Service with pingress.io/upstream-tls-name"),
    closedRemedy:
      "Annotate the Service with pingress.io/upstream-tls-name, then remove the annotation",
    does: "sets the name that the backend's certificate is verified against",
  }),
  "proxy-ssl-server-name": row({
    ...SECURE,
    risk: "Low",
    value: ON_OFF,
    verdict: always("backends that are spoken to by TLS are sent the name that is verified"),
    does: "sends the name to the backend in the TLS handshake",
    isCovered: true,
  }),
  "proxy-ssl-verify": row({
    ...SECURE,
    risk: "Low",
    value: ON_OFF,
    verdict: always(
      "backends are verified unless their Service says otherwise (pingress.io/upstream-tls-verify)",
    ),
    does: "verifies the backend's certificate; off by default",
    isCovered: true,
  }),
  "proxy-ssl-verify-depth": row({
    ...SECURE,
    risk: "Low",
    value: int(0),
    does: "limits the length of the chain of the backend's certificate",
  }),
  "proxy-ssl-protocols": row({
    ...SECURE,
    risk: "Low",
    value: listOf(PROTOCOLS, " ", 'versions such as "TLSv1.2 TLSv1.3"'),
    verdict: always("backends are spoken to by TLS 1.2 or 1.3"),
    does: "lists the versions of TLS to the backend",
    isHarmless: (versions) => versions.includes("TLSv1.2"),
  }),
  "proxy-ssl-ciphers": row({
    ...SECURE,
    risk: "Medium",
    value: text(/^[A-Za-z\d+:_!@=-]+$/, "list of ciphers, as OpenSSL writes it"),
    verdict: always("backends are spoken to by TLS 1.2 or 1.3, whose ciphers cannot be chosen"),
    does: "lists the ciphers of TLS to the backend",
  }),
} satisfies Group;
