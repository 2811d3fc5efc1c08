/** Keys about TLS of clients. */
import { always, NOT_YET, type Verdict } from "../annotations/nginx/rows/row.ts";
import { BOOL, LINE, listOf, type ValueType } from "../annotations/nginx/rows/value.ts";
import { guard, type KeyGroup, plain } from "./key.ts";

const VERSIONS: Readonly<ValueType<readonly string[]>> = listOf(
  ["SSLv2", "SSLv3", "TLSv1", "TLSv1.1", "TLSv1.2", "TLSv1.3"],
  " ",
  "versions of TLS, separated by blanks",
);

const TLS: Readonly<Verdict> = always(
  "TLS 1.2 and 1.3 with the ciphers of Mozilla's intermediate profile are taken",
);

/** The default there, which is that profile without its ciphers of DHE. */
const DEFAULT_CIPHERS = "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:" +
  "ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:" +
  "ECDHE-RSA-CHACHA20-POLY1305";

export const TLS_KEYS = {
  "ssl-protocols": guard(VERSIONS, TLS, "lists the versions of TLS", {
    isHarmless: (versions) => versions.includes("TLSv1.2"),
    differenceOf: (versions) =>
      versions.every((version) => version === "TLSv1.2" || version === "TLSv1.3")
        ? null
        : "clients without TLS 1.2 and 1.3 are rejected",
  }),
  "ssl-ciphers": guard(LINE, TLS, "lists the ciphers of TLS 1.2", {
    isHarmless: (ciphers) =>
      DEFAULT_CIPHERS.split(":").every((cipher) => ciphers.split(":").includes(cipher)),
  }),
  "ssl-reject-handshake": plain(
    BOOL,
    always("the handshake for a host without a certificate ends with unrecognized_name"),
    "ends the handshake for a host without a certificate",
  ),
  "ssl-early-data": plain(
    BOOL,
    always("early data, which can be replayed, is not taken"),
    "takes requests in the first message of TLS 1.3",
  ),
  "ssl-ecdh-curve": plain(LINE, TLS, "lists the curves"),
  "ssl-dh-param": plain(LINE, TLS, "names a Secret with Diffie-Hellman parameters"),
  "ssl-buffer-size": plain(LINE, TLS, "sets the size of records"),
  "ssl-session-cache": plain(BOOL, TLS, "keeps sessions"),
  "ssl-session-cache-size": plain(LINE, TLS, "sets the memory for sessions"),
  "ssl-session-tickets": plain(BOOL, TLS, "gives clients tickets for sessions"),
  "ssl-session-ticket-key": plain(LINE, TLS, "sets the key of the tickets"),
  "ssl-session-timeout": plain(LINE, TLS, "says how long sessions are kept"),
  "enable-ocsp": plain(BOOL, NOT_YET, "staples OCSP responses"),
} satisfies KeyGroup;
