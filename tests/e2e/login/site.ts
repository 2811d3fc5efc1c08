/** Names of the login test, as `manifests/oauth2-proxy` has them. */
import type { User } from "./identity_provider.ts";

export const HOST = "app.example.com";
export const SITE = `https://${HOST}`;
export const LOGIN_HOST = "login.example.com";
export const ISSUER = `https://${LOGIN_HOST}`;

export const USER: User = { name: "alice", password: "open sesame", email: "alice@example.com" };
