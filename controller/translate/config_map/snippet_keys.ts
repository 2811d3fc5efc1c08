/** Keys with text of nginx's configuration, code for it, and its web application firewall. */
import { NEVER_TEXT, NOT_YET } from "../annotations/nginx/rows/row.ts";
import { BOOL, LINE, SNIPPET } from "../annotations/nginx/rows/value.ts";
import { guard, type KeyGroup, plain } from "./key.ts";

export const SNIPPET_KEYS = {
  "main-snippet": guard(SNIPPET, NEVER_TEXT, "adds directives to nginx.conf"),
  "http-snippet": guard(SNIPPET, NEVER_TEXT, "adds directives for HTTP"),
  "server-snippet": guard(SNIPPET, NEVER_TEXT, "adds directives to all hosts"),
  "location-snippet": guard(SNIPPET, NEVER_TEXT, "adds directives to all paths"),
  "stream-snippet": guard(SNIPPET, NEVER_TEXT, "adds directives for TCP and UDP"),
  "plugins": guard(LINE, NOT_YET, "runs these plugins in Lua for each request"),
  "lua-shared-dicts": plain(LINE, NOT_YET, "sets the memory of code in Lua"),
} satisfies KeyGroup;

export const FIREWALL_KEYS = {
  "enable-modsecurity": guard(BOOL, NOT_YET, "checks all requests by ModSecurity"),
  "enable-owasp-modsecurity-crs": guard(BOOL, NOT_YET, "adds the OWASP core rule set", {
    beside: ["enable-modsecurity"],
  }),
  "modsecurity-snippet": guard(SNIPPET, NEVER_TEXT, "adds rules of ModSecurity", {
    beside: ["enable-modsecurity"],
  }),
  "use-geoip2": plain(BOOL, NOT_YET, "looks up where clients are"),
  "geoip2-autoreload-in-minutes": plain(LINE, NOT_YET, "reads the database again"),
} satisfies KeyGroup;
