/**
 * One of the three servers of a login, in a pod. In: its name, and flags and environment variables of
 * oauth2-proxy. Out: it responds on its port until SIGTERM.
 *
 *     main.ts --server=auth|identity|application --http-address=0.0.0.0:4180 …
 */
import { createServer } from "node:http";
import { application } from "./application.ts";
import { authServer } from "./auth_server.ts";
import { identityProvider } from "./identity_provider.ts";
import { ISSUER, SITE, USER } from "./site.ts";

const flags = flagsOf(Deno.args);
const [hostname, port] = flag("http-address").split(":");
const client = () => ({
  clientId: variable("OAUTH2_PROXY_CLIENT_ID"),
  clientSecret: variable("OAUTH2_PROXY_CLIENT_SECRET"),
});
Deno.addSignalListener("SIGTERM", () => Deno.exit(0));
switch (flags.get("server")?.[0] ?? "auth") {
  case "application":
    Deno.serve({ hostname, port: Number(port) }, application());
    break;
  case "identity":
    createServer(
      await identityProvider({
        ...client(),
        issuer: ISSUER,
        redirectUrl: `${SITE}/oauth2/callback`,
        afterLogout: `${SITE}/`,
        user: USER,
      }),
    ).listen(Number(port), hostname);
    break;
  default:
    Deno.serve(
      { hostname, port: Number(port) },
      await authServer({
        ...client(),
        cookieSecret: variable("OAUTH2_PROXY_COOKIE_SECRET"),
        loginUrl: flag("login-url"),
        redeemUrl: flag("redeem-url"),
        profileUrl: flag("profile-url"),
        redirectUrl: flag("redirect-url"),
        scope: flag("scope"),
        whitelistDomains: flags.get("whitelist-domain") ?? [],
      }),
    );
}

function flagsOf(args: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  for (const arg of args) {
    const [, name, value] = /^--([^=]+)=(.*)$/s.exec(arg) ?? [];
    if (name === undefined) throw new Error(`${arg} is no flag`);
    found.set(name, [...found.get(name) ?? [], value]);
  }
  return found;
}

/** Every flag of oauth2-proxy can be a variable. */
function flag(name: string): string {
  return flags.get(name)?.at(-1) ??
    variable(`OAUTH2_PROXY_${name.toUpperCase().replaceAll("-", "_")}`);
}

function variable(name: string): string {
  const value = Deno.env.get(name);
  if (value === undefined) throw new Error(`${name} is missing`);
  return value;
}
