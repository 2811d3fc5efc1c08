/**
 * Each combination of what decides on access, for a client of 127.0.0.1. In: nothing. Out: annotations,
 * and the status that nginx responds with, by login.
 */
import { Buffer } from "node:buffer";

/** Authorization by its name; null for none. */
export const LOGINS = {
  right: basic("ann:open sesame"),
  wrong: basic("ann:guess"),
  unknown: basic("eve:open sesame"),
  missing: null,
} as const;

export type LoginName = keyof typeof LOGINS;

export const PASSWORD_FILE = "ann:$apr1$saltsalt$HIDXe7D36X22w1CH4M1cQ.\n";

/** The Secret of `auth-secret`. */
export const USERS = {
  metadata: { namespace: "default", name: "users", uid: "u", resourceVersion: "1" },
  type: "Opaque",
  data: { auth: Buffer.from(PASSWORD_FILE).toString("base64") },
};

export interface AccessCase {
  readonly annotations: Readonly<Record<string, string>>;
  readonly expected: (login: string) => number;
}

export const ADMITS_ALL = "0.0.0.0/0,::/0";

const ALLOW = {
  none: null,
  admits: "127.0.0.0/8, 10.1.0.0/16",
  rejects: "10.0.0.0/8",
  all: ADMITS_ALL,
} as const;
const DENY = { none: null, abstains: "10.0.0.0/8", rejects: "127.0.0.1" } as const;

/** As ngx_http_core_access_phase has it: null is no opinion. */
function networks(deny: keyof typeof DENY, allow: keyof typeof ALLOW): 200 | 403 | null {
  if (deny === "rejects" || allow === "rejects") return 403;
  return allow === "admits" || allow === "all" ? 200 : null;
}

/** What the server of `auth-url` responds with; null: there is no such annotation. */
export const EXTERNAL = [204, 401, 403] as const;

/**
 * @param external The responses of `http://auth.default.svc/STATUS` that are combined with the others.
 */
export function accessCases(
  external: readonly (number | null)[] = [null],
): readonly AccessCase[] {
  return external.flatMap((status) => casesBeside(status));
}

function casesBeside(external: number | null): readonly AccessCase[] {
  const cases: AccessCase[] = [];
  for (const deny of ["none", "abstains", "rejects"] as const) {
    for (const allow of Object.keys(ALLOW) as (keyof typeof ALLOW)[]) {
      for (const hasBasic of [false, true]) {
        for (const satisfy of [null, "all", "any"] as const) {
          const annotations = Object.entries({
            "denylist-source-range": DENY[deny],
            "allowlist-source-range": ALLOW[allow],
            "auth-type": hasBasic ? "basic" : null,
            "auth-secret": hasBasic ? "users" : null,
            "auth-realm": hasBasic ? "Staff only" : null,
            "auth-url": external === null ? null : `http://auth.default.svc/${external}`,
            satisfy,
          }).filter((entry): entry is [string, string] => entry[1] !== null);
          const expected = (login: string) => {
            const ofLogin = !hasBasic ? null : login === "right" ? 200 : 401;
            const ofServer = external === 204 ? 200 : external;
            const verdicts = [networks(deny, allow), ofLogin, ofServer];
            if (satisfy !== "any") return verdicts.find((one) => one === 403 || one === 401) ?? 200;
            if (verdicts.includes(200)) return 200;
            return verdicts.includes(401) ? 401 : verdicts.includes(403) ? 403 : 200;
          };
          cases.push({ annotations: Object.fromEntries(annotations), expected });
        }
      }
    }
  }
  return cases;
}

function basic(login: string): string {
  return `Basic ${btoa(login)}`;
}
