/**
 * Basic authentication (RFC 7617). In: the id of credentials, a realm, and requests. Out: those with a
 * login of the credentials are admitted; others are asked for one with 401.
 */
import { Buffer } from "node:buffer";
import { ProxyError } from "../../errors.ts";
import { AUTHORIZATION, type Fields } from "../../http/fields.ts";
import type { Client } from "../../http/message.ts";
import { type Logins, MAX_LOGIN } from "../passwords/credential_store.ts";
import { ABSTAINED, type AccessCheck, type Verdict } from "./check.ts";
import type { AccessServices } from "./services.ts";

/** The header that a connection was admitted with last; hashing it again costs more than the request. */
interface Admitted {
  readonly logins: Logins;
  /** Its value. */
  readonly bytes: Uint8Array;
}

export function basicCheck(
  { credentials, realm }: { readonly credentials: string; readonly realm: string },
  { loginsOf }: AccessServices,
): AccessCheck {
  if (loginsOf === undefined) throw new Error("nobody verifies passwords here");
  const unauthorized = new ProxyError("unauthorized", undefined, {
    challenge: `Basic realm="${realm.replace(/["\\]/g, "\\$&")}"`,
  });
  const admitted = new WeakMap<Client, Admitted>();
  return {
    // As in ingress-nginx, a location without its file is denied, whatever satisfy says.
    require: () => {
      loginsOf(credentials);
    },
    // As in ingress-nginx, it is for the proxy, and no backend sees it.
    admitted: ({ request: { fields } }) => {
      for (let i = fields.find(AUTHORIZATION); i !== -1; i = fields.find(AUTHORIZATION, i)) {
        fields.drop(i);
      }
    },
    check: (x): Verdict | Promise<Verdict> => {
      // Throws where there are none, whatever the request has.
      const logins = loginsOf(credentials);
      const { fields } = x.request;
      const at = authorizationIn(fields);
      if (at === -1) return unauthorized;
      const last = admitted.get(x.client);
      if (last !== undefined && last.logins === logins && isValue(last.bytes, fields, at)) {
        return null;
      }
      const login = loginIn(fields.value(at));
      if (login === null) return unauthorized;
      const bytes = fields.bytes.slice(fields.valueStart(at), fields.valueEnd(at));
      const verdict = (isRight: boolean) => {
        if (!isRight) return unauthorized;
        admitted.set(x.client, { logins, bytes });
        return null;
      };
      const isRight = logins.verify({ ...login, client: x.record.clientAddress });
      return isRight instanceof Promise ? isRight.then(verdict) : verdict(isRight);
    },
  };
}

/** For paths that need no login: as in ingress-nginx, they are denied as well while the users are missing. */
export function requiredUsersCheck(id: string, { loginsOf }: AccessServices): AccessCheck {
  if (loginsOf === undefined) throw new Error("nobody verifies passwords here");
  return {
    require: () => {
      loginsOf(id);
    },
    check: () => {
      loginsOf(id);
      return ABSTAINED;
    },
  };
}

/** -1 for none, and for more than one: whichever is meant, a backend might read another. */
function authorizationIn(fields: Fields): number {
  const at = fields.find(AUTHORIZATION);
  return at === -1 || fields.find(AUTHORIZATION, at + 1) !== -1 ? -1 : at;
}

/** User and password, a character for each byte; null where the header is of another kind. */
function loginIn(value: string): { user: string; password: string } | null {
  if (value.length > MAX_LOGIN) return null;
  const [, digits] = /^basic +([A-Za-z0-9+/]+={0,2})$/i.exec(value) ?? [];
  if (digits === undefined) return null;
  const text = Buffer.from(digits, "base64").toString("latin1");
  const colon = text.indexOf(":");
  return colon === -1 ? null : { user: text.slice(0, colon), password: text.slice(colon + 1) };
}

/**
 * Whether a field has this value, in a time that depends on the length alone: `timingSafeEqual`, which
 * needs the value in a buffer of its own, costs a tenth of the request.
 */
function isValue(value: Uint8Array, fields: Fields, at: number): boolean {
  const { bytes } = fields;
  const start = fields.valueStart(at);
  if (fields.valueEnd(at) - start !== value.length) return false;
  let difference = 0;
  for (let i = 0; i < value.length; i++) difference |= value[i] ^ bytes[start + i];
  return difference === 0;
}
