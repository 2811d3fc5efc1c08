/**
 * A user logs in, uses the application, and logs out; then the authentication server ends. In: a
 * browser, and where the proxy listens. Out: nothing; throws where something is not as it should be.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { BrowserPage, type Cookie } from "../browser_page.ts";
import { get, handshake, type Headers, type Place } from "./outsider.ts";
import { HOST, ISSUER, LOGIN_HOST, SITE, USER } from "./site.ts";

const PATH = "/orders?id=7&sort=a%20b";
const START = `${SITE}/oauth2/start?rd=%2Forders%3Fid%3D7%26sort%3Da%2520b`;
const END = `${ISSUER}/session/end?` + new URLSearchParams({
  client_id: "web",
  post_logout_redirect_uri: `${SITE}/`,
});
const LOGOUT = `${SITE}/oauth2/sign_out?rd=${encodeURIComponent(END)}`;

/** What clients may send to be somebody else. */
const SPOOFED = {
  "X-Auth-Request-User": "mallory",
  "X-Auth-Request-Email": "mallory@example.com",
  "X_Auth_Request_User": "mallory",
  "X.Auth.Request.Email": "mallory@example.com",
};

/** A part of it, which a test may name. */
export type Step = (name: string, run: () => Promise<void>) => Promise<void>;

export interface LoginSite {
  readonly browser: string;
  readonly place: Place;
  /** Ends the authentication server. */
  readonly endAuthServer: () => Promise<void>;
}

export async function logInAndOut(
  { browser, place, endAuthServer }: LoginSite,
  step: Step,
): Promise<void> {
  const folder = await Deno.makeTempDir();
  const authority = join(folder, "ca.pem");
  await Deno.writeTextFile(authority, place.ca);
  const to = `${place.address}:${place.port}`;
  await using page = await BrowserPage.open(browser, {
    authority,
    resolver: `MAP ${HOST}:443 ${to}, MAP ${LOGIN_HOST}:443 ${to}, MAP * ~NOTFOUND`,
  });
  try {
    await step("without a session, every request is refused", () => withoutSession(place));
    await step("a browser is led to the login form and back", () => logIn(page));
    await step("a session of more than 4 KiB comes back whole", () => useCookies(page, place));
    await step("the application gets the user's name from nobody else", () => spoof(page, place));
    await step("a WebSocket of the page works", () => useSocket(page));
    // Of a session that a server without a memory would still accept.
    const cookie = cookieOf(...await sessionCookies(page));
    await step("a logout ends the session", () => logOut(page, place));
    await step("without the server, a session is refused with 500", async () => {
      assert.equal((await get(place, "/headers", { cookie })).status, 200);
      await endAuthServer();
      await withoutServer(place, cookie);
    });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function withoutSession(place: Place): Promise<void> {
  const invalid = { cookie: "_oauth2_proxy=x; _oauth2_proxy_0=y" };
  const sent: readonly Headers[] = [{}, SPOOFED, invalid];
  for (const headers of sent) {
    const response = await get(place, PATH, headers);
    assert.deepEqual([response.status, response.location], [302, START]);
    assert.equal((await get(place, "/live/headers", headers)).status, 401);
    assert.equal(await handshake(place, "/live/socket", headers), 401);
  }
}

async function logIn(page: BrowserPage): Promise<void> {
  await page.goto(SITE + PATH);
  await page.waitFor(`document.title === "Log in" && document.readyState === "complete"`);
  assert.deepEqual(page.visits().map(short), [
    `302 ${SITE}/orders`,
    `302 ${SITE}/oauth2/start`,
    `303 ${ISSUER}/auth`,
    `200 ${ISSUER}/interaction/…`,
  ]);
  await page.type("[name=name]", USER.name);
  await page.type("[name=password]", USER.password);
  await page.click("button");
  await page.waitFor(`document.title === "Application" && document.readyState === "complete"`);
  assert.deepEqual(page.visits().map(short), [
    `303 ${ISSUER}/interaction/…`,
    `303 ${ISSUER}/auth/…`,
    `302 ${SITE}/oauth2/callback`,
    `200 ${SITE}/orders`,
  ]);
  assert.equal(await page.evaluate("location.href"), SITE + PATH);
  assert.equal(await page.text("#target"), PATH);
  assert.equal(await page.text("#user"), USER.name);
  assert.equal(await page.text("#email"), USER.email);
}

async function useCookies(page: BrowserPage, place: Place): Promise<void> {
  // The response that carried the page has set them again: both of them, or the session would be none.
  const { user, refreshes } = await page.evaluate<{ user: string; refreshes: number }>(
    `fetch("/oauth2/userinfo").then((response) => response.json())`,
  );
  assert.deepEqual([user, refreshes], [USER.name, 1]);
  const [first, second, ...others] = await sessionCookies(page);
  assert.deepEqual(others, []);
  assert.deepEqual([first.name, second.name], ["_oauth2_proxy_0", "_oauth2_proxy_1"]);
  assert.ok(first.value.length + second.value.length > 4096);
  for (const { secure, httpOnly } of [first, second]) assert.ok(secure && httpOnly);
  const inOrder = (await get(place, "/headers", { cookie: cookieOf(first, second) })).status;
  const reversed = (await get(place, "/headers", { cookie: cookieOf(second, first) })).status;
  const alone = (await get(place, "/headers", { cookie: cookieOf(first) })).status;
  const swapped = `${first.name}=${second.value}; ${second.name}=${first.value}`;
  const mixed = (await get(place, "/headers", { cookie: swapped })).status;
  assert.deepEqual([inOrder, reversed, alone, mixed], [200, 200, 302, 302]);
  const cookie = cookieOf(first, second);
  assert.equal(await handshake(place, "/live/socket", { cookie }), 101);
  assert.equal(await handshake(place, "/live/socket", { cookie: cookieOf(second) }), 401);
}

async function spoof(page: BrowserPage, place: Place): Promise<void> {
  const cookie = cookieOf(...await sessionCookies(page));
  for (const path of ["/headers", "/live/headers"]) {
    const inPage = await page.evaluate<Record<string, string>>(
      `fetch(${JSON.stringify(path)}, { headers: ${JSON.stringify(SPOOFED)} })
        .then((response) => response.json())`,
    );
    const outside = JSON.parse((await get(place, path, { ...SPOOFED, cookie })).body);
    for (const received of [inPage, outside]) {
      const identity = Object.entries(received).filter(([name]) => /auth.request/i.test(name));
      assert.deepEqual(Object.fromEntries(identity), {
        "x-auth-request-user": USER.name,
        "x-auth-request-email": USER.email,
      });
    }
  }
  const { body } = await get(place, "/seen", { ...SPOOFED, cookie });
  assert.deepEqual(JSON.parse(body), [USER.name, USER.email]);
}

/** Over HTTP/2, as all that the page loads (RFC 8441). */
async function useSocket(page: BrowserPage): Promise<void> {
  const protocol = await page.evaluate(
    `performance.getEntriesByType("navigation")[0].nextHopProtocol`,
  );
  assert.equal(protocol, "h2");
  await page.waitFor(`document.getElementById("live").textContent !== ""`);
  assert.equal(await page.text("#live"), `hello, ${USER.name}`);
}

async function logOut(page: BrowserPage, place: Place): Promise<void> {
  await page.goto(LOGOUT);
  await page.waitFor(`document.title === "Log out" && document.readyState === "complete"`);
  assert.deepEqual(await sessionCookies(page), []);
  await page.click("#logout");
  // Back at the application, which leads to the form again.
  await page.waitFor(`document.title === "Log in" && document.readyState === "complete"`);
  assert.deepEqual(page.visits().map(short).slice(-4), [
    `302 ${SITE}/`,
    `302 ${SITE}/oauth2/start`,
    `303 ${ISSUER}/auth`,
    `200 ${ISSUER}/interaction/…`,
  ]);
  const cookies = await page.cookies(SITE);
  const cookie = cookies.map(({ name, value }) => `${name}=${value}`).join("; ");
  assert.equal((await get(place, PATH, { cookie })).status, 302);
  assert.equal(await handshake(place, "/live/socket", { cookie }), 401);
}

async function withoutServer(place: Place, cookie: string): Promise<void> {
  for (const path of ["/headers", "/live/headers"]) {
    // Also while the proxy does not know yet that it has ended.
    assert.equal((await get(place, path, { cookie })).status, 500);
  }
  assert.equal(await handshake(place, "/live/socket", { cookie }), 500);
}

/** Sorted by name. */
async function sessionCookies(page: BrowserPage): Promise<Cookie[]> {
  const cookies = await page.cookies(SITE);
  return cookies.filter(({ name }) => /^_oauth2_proxy(_\d+)?$/.test(name))
    .sort((a, b) => a.name < b.name ? -1 : 1);
}

function cookieOf(...cookies: readonly Cookie[]): string {
  return cookies.map(({ name, value }) => `${name}=${value}`).join("; ");
}

/** Without a query, and without the names that the provider makes up. */
function short({ status, url }: { status: number; url: string }): string {
  const { origin, pathname } = new URL(url);
  const path = pathname.replace(/^\/(interaction|auth)\/[-\w]+/, "/$1/…");
  return `${status} ${origin}${path}`;
}
