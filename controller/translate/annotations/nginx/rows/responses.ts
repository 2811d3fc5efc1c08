/** Annotations about what clients receive: headers, cookies, and replies in place of errors. */
import { always, differs, type Group, NOT_YET, row } from "./row.ts";
import { BOOL, LINE, objectName, SERVICE, STATUS_CODES } from "./value.ts";

const RESPONSE = { scope: "path", invalid: "default", protects: false, verdict: NOT_YET } as const;

/** The default, also beside another value of the ConfigMap. */
const isOffWord = (text: string): boolean => text === "off";

export const RESPONSES = {
  "custom-headers": row({
    ...RESPONSE,
    risk: "Medium",
    value: objectName("ConfigMap"),
    protects: true,
    invalid: "close",
    does: "names the ConfigMap with headers that are added to responses",
  }),
  "custom-http-errors": row({
    ...RESPONSE,
    risk: "Low",
    value: STATUS_CODES,
    does: "replaces responses of these status codes by those of the default backend",
  }),
  "default-backend": row({
    ...RESPONSE,
    risk: "Low",
    value: SERVICE,
    verdict: differs("requests have no X-Code and other headers about the error"),
    does: "names the Service for requests whose backend has no endpoints; its first port is used",
  }),
  "disable-proxy-intercept-errors": row({
    ...RESPONSE,
    risk: "Low",
    value: BOOL,
    verdict: always("answers of backends are passed on as they are"),
    does: "keeps responses of backends that custom-http-errors would replace",
  }),
  "proxy-cookie-domain": row({
    ...RESPONSE,
    risk: "Medium",
    value: LINE,
    isSame: isOffWord,
    does: "replaces Domain in Set-Cookie of the backend",
  }),
  "proxy-cookie-path": row({
    ...RESPONSE,
    risk: "Medium",
    value: LINE,
    isSame: isOffWord,
    does: "replaces Path in Set-Cookie of the backend",
  }),
  "proxy-redirect-from": row({
    ...RESPONSE,
    risk: "Medium",
    value: LINE,
    isSame: isOffWord,
    does: "says what is replaced in Location and Refresh of the backend",
  }),
  "proxy-redirect-to": row({
    ...RESPONSE,
    risk: "Medium",
    value: LINE,
    does: "says what proxy-redirect-from is replaced by",
  }),
} satisfies Group;
