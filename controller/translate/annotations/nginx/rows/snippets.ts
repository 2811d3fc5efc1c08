/** Annotations with text of nginx's configuration, and those of its web application firewall. */
import { type Group, NEVER_TEXT, NOT_YET, row } from "./row.ts";
import { TEMPLATE } from "./template.ts";
import { BOOL, SNIPPET } from "./value.ts";

const TEXT = {
  risk: "Critical",
  value: SNIPPET,
  invalid: "close",
  protects: true,
  verdict: NEVER_TEXT,
} as const;

export const SNIPPETS = {
  "configuration-snippet": row({
    ...TEXT,
    scope: "path",
    does: "adds directives to the paths",
  }),
  "server-snippet": row({
    ...TEXT,
    scope: "host",
    does: "adds directives to the host",
  }),
  "auth-snippet": row({
    ...TEXT,
    scope: "path",
    does: "adds directives to the subrequest of auth-url",
  }),
  "stream-snippet": row({
    ...TEXT,
    scope: "host",
    does: "adds directives for TCP and UDP",
  }),
} satisfies Group;

const FIREWALL = { scope: "path", invalid: "close", protects: true, verdict: NOT_YET } as const;

export const MODSECURITY = {
  "enable-modsecurity": row({
    ...FIREWALL,
    risk: "Low",
    value: BOOL,
    does: "checks requests by ModSecurity",
  }),
  "enable-owasp-core-rules": row({
    ...FIREWALL,
    risk: "Low",
    value: BOOL,
    does: "adds the OWASP core rule set",
  }),
  "modsecurity-snippet": row({
    ...TEXT,
    scope: "path",
    does: "adds rules",
  }),
  "modsecurity-transaction-id": row({
    ...FIREWALL,
    risk: "High",
    value: TEMPLATE,
    beside: ["enable-modsecurity", "enable-owasp-core-rules", "modsecurity-snippet"],
    does: "sets the id of the transaction",
  }),
} satisfies Group;
