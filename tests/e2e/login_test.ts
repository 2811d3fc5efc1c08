/**
 * A login in a browser, through `deno task dev` on the manifests of `manifests/oauth2-proxy`. In place of
 * the Services there are servers of this process.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { CertificateAuthority } from "../../dev/certificate_authority.ts";
import { canTrust, findBrowser } from "./browser.ts";
import { DevTask } from "./dev_task.ts";
import { application } from "./login/application.ts";
import { authServer } from "./login/auth_server.ts";
import { identityProvider } from "./login/identity_provider.ts";
import { logInAndOut } from "./login/login_flow.ts";
import { ingressOfProvider, tlsSecret } from "./login/objects.ts";
import { ISSUER, SITE, USER } from "./login/site.ts";

const CLIENT = { clientId: "web", clientSecret: "secret of the client" };
const REDIRECT = `${SITE}/oauth2/callback`;
const LOOPBACK = { hostname: "127.0.0.1", port: 0, onListen() {} };

Deno.test("a login by a server with oauth2-proxy's contract protects an application in deno task dev", async (t) => {
  const browser = await findBrowser(t.name);
  if (browser === null || !await canTrust(t.name)) return;
  const folder = await Deno.makeTempDir();
  await using _ = {
    [Symbol.asyncDispose]: () => Deno.remove(folder, { recursive: true }),
  };
  const authority = await CertificateAuthority.create("Login");
  const secret = await tlsSecret(authority);
  for (const [name, object] of Object.entries({ secret, provider: ingressOfProvider() })) {
    await Deno.writeTextFile(join(folder, `${name}.json`), JSON.stringify(object));
  }
  await using identity = await startProvider();
  const provider = `http://127.0.0.1:${identity.port}`;
  await using auth = Deno.serve(
    LOOPBACK,
    await authServer({
      ...CLIENT,
      cookieSecret: "0123456789abcdef0123456789abcdef",
      loginUrl: `${ISSUER}/auth`,
      redeemUrl: `${provider}/token`,
      profileUrl: `${provider}/me`,
      redirectUrl: REDIRECT,
      scope: "openid email profile",
      whitelistDomains: ["login.example.com"],
    }),
  );
  await using web = Deno.serve(LOOPBACK, application());
  await using dev = await DevTask.start(
    join("manifests", "oauth2-proxy"),
    folder,
    "--nginx-class=nginx",
    `--map=default/web=127.0.0.1:${web.addr.port}`,
    `--map=default/oauth2-proxy=127.0.0.1:${auth.addr.port}`,
    `--map=default/identity=127.0.0.1:${identity.port}`,
  );
  const place = { address: "127.0.0.1", port: dev.https, ca: authority.certificate };
  await logInAndOut({ browser, place, endAuthServer: () => auth.shutdown() }, async (name, run) => {
    if (!await t.step(name, run)) throw new Error(name);
  });
});

async function startProvider() {
  const listener = await identityProvider({
    ...CLIENT,
    issuer: ISSUER,
    redirectUrl: REDIRECT,
    afterLogout: `${SITE}/`,
    user: USER,
  });
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
