/**
 * A server with the documented contract of oauth2-proxy, in its place. In: flags and environment
 * variables of oauth2-proxy. Out: its endpoints below `/oauth2`, with sessions in cookies.
 *
 *     /oauth2/auth       202 with X-Auth-Request-*, or 401
 *     /oauth2/start      redirects to the provider; `rd` is where to return to
 *     /oauth2/callback   gets the code of the provider, and sets the session's cookies
 *     /oauth2/userinfo   the session as JSON, or 401
 *     /oauth2/sign_out   removes the cookies, and redirects to `rd`
 *     /ready             200
 *
 * Not here: its sign-in page, other providers, ID tokens (it asks the provider's userinfo endpoint),
 * and stores of sessions other than cookies. A session is refreshed once, when it is first checked, in
 * place of `--cookie-refresh`, which waits.
 *
 * https://oauth2-proxy.github.io/oauth2-proxy/features/endpoints
 */
import { cookiesOf, expired, SessionCookies } from "./session_cookies.ts";

/** Default names of oauth2-proxy. */
const SESSION = "_oauth2_proxy";
const CSRF = "_oauth2_proxy_csrf";

export interface AuthServerOptions {
  readonly clientId: string;
  readonly clientSecret: string;
  /** 16, 24 or 32 bytes. */
  readonly cookieSecret: string;
  /** Where browsers log in. */
  readonly loginUrl: string;
  /** Where a code is exchanged for a token, and a token for claims. */
  readonly redeemUrl: string;
  readonly profileUrl: string;
  readonly redirectUrl: string;
  readonly scope: string;
  /** Hosts other than the request's own that `rd` may name. */
  readonly whitelistDomains: readonly string[];
}

interface Session {
  readonly user: string;
  readonly email: string;
  readonly preferredUsername: string;
  readonly groups: readonly string[];
  /** How often its cookies were set again. */
  readonly refreshes: number;
}

interface Attempt {
  readonly nonce: string;
  readonly verifier: string;
}

export async function authServer(
  options: AuthServerOptions,
): Promise<(request: Request) => Promise<Response>> {
  const cookies = await SessionCookies.create(options.cookieSecret);
  return (request) => respond(request, options, cookies);
}

async function respond(
  request: Request,
  options: AuthServerOptions,
  sealed: SessionCookies,
): Promise<Response> {
  const url = new URL(request.url);
  const cookies = cookiesOf(request.headers);
  const session = () => sealed.open<Session>(SESSION, cookies);
  const returnTo = () => allowed(url.searchParams.get("rd"), options.whitelistDomains);
  switch (url.pathname) {
    case "/ready":
      return new Response("OK");
    case "/oauth2/auth":
      return await check(await session(), sealed);
    case "/oauth2/userinfo": {
      const found = await session();
      return found === null ? unauthorized() : Response.json({ ...found, groups: undefined });
    }
    case "/oauth2/start":
      return await start(returnTo(), options, sealed);
    case "/oauth2/callback":
      return await finish(url, await sealed.open<Attempt>(CSRF, cookies), options, sealed);
    case "/oauth2/sign_out":
      return redirect(returnTo(), expired(SESSION, cookies));
    default:
      return new Response(null, { status: 404 });
  }
}

async function check(session: Session | null, sealed: SessionCookies): Promise<Response> {
  if (session === null) return unauthorized();
  const { user, email, preferredUsername, groups, refreshes } = session;
  const headers = new Headers({
    "X-Auth-Request-User": user,
    "X-Auth-Request-Email": email,
    "X-Auth-Request-Preferred-Username": preferredUsername,
    "X-Auth-Request-Groups": groups.join(","),
  });
  if (refreshes === 0) {
    for (const cookie of await sealed.seal(SESSION, { ...session, refreshes: 1 })) {
      headers.append("Set-Cookie", cookie);
    }
  }
  return new Response(null, { status: 202, headers });
}

/** RFC 6749, section 4.1.1, with the proof of RFC 7636. */
async function start(
  returnTo: string,
  { clientId, loginUrl, redirectUrl, scope }: AuthServerOptions,
  sealed: SessionCookies,
): Promise<Response> {
  const [nonce, verifier] = [random(), random()];
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier));
  const to = new URL(loginUrl);
  to.search = String(
    new URLSearchParams({
      response_type: "code",
      client_id: clientId,
      redirect_uri: redirectUrl,
      scope,
      state: `${nonce}:${returnTo}`,
      code_challenge: base64url(new Uint8Array(hash)),
      code_challenge_method: "S256",
    }),
  );
  return redirect(to.href, await sealed.seal(CSRF, { nonce, verifier }));
}

/** RFC 6749, sections 4.1.2 and 4.1.3. */
async function finish(
  { searchParams }: URL,
  attempt: Attempt | null,
  options: AuthServerOptions,
  sealed: SessionCookies,
): Promise<Response> {
  const [nonce, ...path] = (searchParams.get("state") ?? "").split(":");
  const code = searchParams.get("code");
  if (attempt === null || nonce !== attempt.nonce || code === null) {
    return new Response("the login was not started here", { status: 403 });
  }
  const token = await json<{ access_token: string }>(options.redeemUrl, {
    method: "POST",
    headers: { authorization: `Basic ${btoa(`${options.clientId}:${options.clientSecret}`)}` },
    body: new URLSearchParams({
      grant_type: "authorization_code",
      code,
      redirect_uri: options.redirectUrl,
      code_verifier: attempt.verifier,
    }),
  });
  const claims = await json<
    { sub: string; email: string; preferred_username: string; groups: readonly string[] }
  >(options.profileUrl, { headers: { authorization: `Bearer ${token.access_token}` } });
  const session: Session = {
    user: claims.sub,
    email: claims.email,
    preferredUsername: claims.preferred_username,
    groups: claims.groups,
    refreshes: 0,
  };
  return redirect(allowed(path.join(":"), options.whitelistDomains), [
    ...await sealed.seal(SESSION, session),
    ...expired(CSRF, new Map([[CSRF, ""]])),
  ]);
}

async function json<T>(url: string, init: RequestInit): Promise<T> {
  const response = await fetch(url, init);
  if (response.ok) return await response.json();
  throw new Error(`${url} responded with ${response.status}: ${await response.text()}`);
}

function redirect(location: string, cookies: readonly string[]): Response {
  const headers = new Headers({ location });
  for (const cookie of cookies) headers.append("Set-Cookie", cookie);
  return new Response(null, { status: 302, headers });
}

function unauthorized(): Response {
  return new Response("Unauthorized\n", { status: 401 });
}

/** A path of the same host, or a URL of an allowed one; otherwise `/`. */
function allowed(target: string | null, domains: readonly string[]): string {
  if (target === null) return "/";
  if (/^\/(?![/\\])/.test(target)) return target;
  const url = URL.parse(target);
  return url?.protocol === "https:" && domains.includes(url.host) ? target : "/";
}

function random(): string {
  return base64url(crypto.getRandomValues(new Uint8Array(32)));
}

function base64url(bytes: Uint8Array): string {
  return bytes.toBase64({ alphabet: "base64url", omitPadding: true });
}
