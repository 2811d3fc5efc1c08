/**
 * Random external authentication, and requests for it. In: random choices. Out: auth-url with annotations that
 * add to it, and requests with and without credentials.
 */
import type { Random } from "../fuzz/random.ts";
import { AUTH_PATH } from "./nginx_auth_outcome.ts";
import { AUTH_HOST } from "./nginx_subrequest.ts";

/** What the server of auth-url responds with. */
const RESPONSES = [
  ...["200/user", "200/user/cookie", "200", "202/user/cookie", "204/cookie", "session/user/cookie"],
  ...["session/challenge/cookie", "401", "401/challenge", "401/challenge/cookie/user"],
  ...["403/cookie", "403", "302", "400", "404", "500/user"],
];
const QUERIES = [
  ...["", "/$host", "?a=b", "?u=$request_uri", "?h=$http_x_part", "?m=$request_method&c=$cookie_s"],
  ...[
    "?h=$http_host&s=$scheme",
    "?p=$pass_access_scheme&a=$remote_addr",
    "?n=$http_none-$cookie_x",
  ],
];
const AUTHORITIES = [AUTH_HOST, `${AUTH_HOST}:80`, `${AUTH_HOST}.cluster.local`];
const SIGNINS = [
  "https://login.test",
  "https://login.test/?rd=$scheme://$http_host$request_uri",
  "https://login.test/in?x=y",
  "https://login.test/in?back=/",
  "https://$host/in?x=y&rd=/",
  "http://login.test/in?rd=",
];

const PATHS = ["/", "/a", "/a/b", "/a/s/404", "/a/s/302", "/s/500", "/none", "/a/~x(1)"];
/** All that are requested. */
export const TARGETS = PATHS.flatMap((path) =>
  ["", "?x=y", "?a=%20b&c=/d", "?"].map((query) => path + query)
);

/** By names of annotations without their prefix. */
export function randomExternal(random: Random): Record<string, string> {
  const annotations: Record<string, string> = {
    "auth-url": `http://${random.pick(AUTHORITIES)}${AUTH_PATH}${random.pick(RESPONSES)}${
      random.pick(QUERIES)
    }`,
  };
  const sometimes = (name: string, rarity: number, values: readonly string[]) => {
    if (random.oneIn(rarity)) annotations[name] = random.pick(values);
  };
  sometimes("auth-method", 2, ["GET", "POST", "HEAD", "PUT", "OPTIONS"]);
  sometimes("auth-signin", 2, SIGNINS);
  if ("auth-signin" in annotations) {
    sometimes("auth-signin-redirect-param", 2, ["back", "next_url", "x", "rd"]);
  }
  sometimes("auth-request-redirect", 2, ["https://$http_host/x?u=$request_uri", "/fixed", "$host"]);
  sometimes("auth-response-headers", 2, ["X-User", "X-Groups, X-User", "Authorization", "x-none"]);
  sometimes("auth-always-set-cookie", 2, ["true", "true", "false"]);
  return annotations;
}

/** @param hosts Of one of them. */
export function authRequest(
  random: Random,
  hosts: readonly string[],
  targets = TARGETS,
): string {
  const method = random.pick(["GET", "GET", "DELETE", "POST"]);
  const lines = [
    `Host: ${random.pick(hosts)}`,
    ...(random.oneIn(2) ? ["Cookie: s=1; t=2"] : []),
    ...(random.oneIn(2) ? ["Authorization: Bearer abc"] : []),
    ...(random.oneIn(2) ? ["X-User: spoofed"] : []),
    ...(random.oneIn(2) ? ["X-Part: part"] : []),
    ...(method === "POST" ? ["Content-Length: 5"] : []),
    "Connection: close",
  ];
  return `${method} ${random.pick(targets)} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n${
    method === "POST" ? "hello" : ""
  }`;
}
