/**
 * An OpenID Connect provider, by npm's oidc-provider, with one client and one user. In: names and
 * secrets. Out: a request listener for `node:http`; its own part is the login form.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import Provider from "oidc-provider";

export interface IdentityProviderOptions {
  /** As browsers reach it: `https://login.example.com`. */
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly redirectUrl: string;
  /** Where a browser returns to after a logout. */
  readonly afterLogout: string;
  readonly user: User;
}

export interface User {
  readonly name: string;
  readonly password: string;
  readonly email: string;
}

/** Enough for a session of more than 4 KiB, which is why sessions in cookies are split in practice. */
const GROUPS = Array.from({ length: 150 }, (_, i) => `department-${i}-of-the-company`);

/** Of everything, in s: longer than any test. */
const LIFE = 3600;

type Listener = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

export async function identityProvider(options: IdentityProviderOptions): Promise<Listener> {
  const provider = await createProvider(options);
  const callback = provider.callback();
  return async (request, response) => {
    try {
      if (request.url === "/ready") response.end("OK");
      else if (!request.url?.startsWith("/interaction/")) await callback(request, response);
      else if (request.method === "POST") await logIn(provider, options.user, request, response);
      else {
        await provider.interactionDetails(request, response);
        sendForm(response, 200);
      }
    } catch (error) {
      console.error(error);
      if (!response.headersSent) response.writeHead(500);
      response.end();
    }
  };
}

async function createProvider(
  { issuer, clientId, clientSecret, redirectUrl, afterLogout, user }: IdentityProviderOptions,
): Promise<Provider> {
  const { privateKey } = await crypto.subtle.generateKey(
    {
      name: "RSASSA-PKCS1-v1_5",
      hash: "SHA-256",
      modulusLength: 2048,
      publicExponent: new Uint8Array([1, 0, 1]),
    },
    true,
    ["sign", "verify"],
  );
  const { kty, n, e, d, p, q, dp, dq, qi } = await crypto.subtle.exportKey("jwk", privateKey);
  const provider: Provider = new Provider(issuer, {
    clients: [{
      client_id: clientId,
      client_secret: clientSecret,
      redirect_uris: [redirectUrl],
      post_logout_redirect_uris: [afterLogout],
    }],
    jwks: { keys: [{ kty: kty as "RSA", n, e, d, p, q, dp, dq, qi, use: "sig" }] },
    cookies: { keys: [crypto.randomUUID()] },
    ttl: { AccessToken: LIFE, Grant: LIFE, IdToken: LIFE, Interaction: LIFE, Session: LIFE },
    claims: { openid: ["sub"], email: ["email"], profile: ["preferred_username", "groups"] },
    findAccount: (_, accountId) => ({
      accountId,
      claims: () => ({
        sub: accountId,
        email: user.email,
        preferred_username: user.name,
        groups: GROUPS,
      }),
    }),
    interactions: { url: (_, { uid }) => `/interaction/${uid}` },
    // Nobody is asked whether the application may know who logs in.
    loadExistingGrant: async ({ oidc }) => {
      const { session, client } = oidc;
      if (session?.accountId === undefined || client === undefined) return undefined;
      const grant = new provider.Grant({
        clientId: client.clientId,
        accountId: session.accountId,
      });
      grant.addOIDCScope("openid email profile");
      await grant.save();
      return grant;
    },
    features: {
      devInteractions: { enabled: false },
      rpInitiatedLogout: {
        enabled: true,
        logoutSource: (context, form) => {
          context.body = page(
            "Log out",
            `${form}<button id="logout" form="op.logoutForm" name="logout" value="yes">Yes</button>`,
          );
        },
      },
    },
  });
  // It is behind a proxy, whose X-Forwarded-Proto it reads.
  provider.proxy = true;
  return provider;
}

async function logIn(
  provider: Provider,
  user: User,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  let body = "";
  for await (const part of request) body += part;
  const form = new URLSearchParams(body);
  if (form.get("name") !== user.name || form.get("password") !== user.password) {
    sendForm(response, 403);
    return;
  }
  await provider.interactionFinished(request, response, { login: { accountId: user.name } });
}

function sendForm(response: ServerResponse, status: number): void {
  const form = `<form method="post"><input name="name" autocomplete="off">
    <input name="password" type="password"><button>Log in</button></form>`;
  response.writeHead(status, { "content-type": "text/html; charset=utf-8" });
  response.end(page("Log in", form));
}

function page(title: string, body: string): string {
  return `<!doctype html><title>${title}</title><h1>${title}</h1>${body}`;
}
