/**
 * What the API server itself refuses. In: nothing. Out: endpoints and specs of Ingresses of which
 * nobody has to be told later.
 */
import { rule } from "./controller_scene.ts";

/** Endpoints at the proxy itself, or at what only its node may ask: the API server takes none. */
export const REFUSED_ENDPOINTS: readonly string[] = [
  "127.0.0.1",
  "::1",
  "::ffff:127.0.0.1",
  "0.0.0.0",
  "::",
  "169.254.169.254",
  "::ffff:169.254.169.254",
  "fe80::1",
  "224.0.0.1",
];

/** What the API server itself refuses, so that nobody has to be told later. */
export const REFUSED: readonly (readonly [what: string, spec: Record<string, unknown>])[] = [
  ...[
    "bad_host.example.com",
    "Upper.example.com",
    "two..dots.example.com",
    "-dash.example.com",
    "app.example.com:8080",
    "https://app.example.com",
    "app.*.example.com",
    "*",
    "192.0.2.7",
    "bücher.example.com",
    "a b.example.com",
    "a\r\nb.example.com",
    "a\u0000b.example.com",
    "app.example.com.",
    `${"a".repeat(254)}`,
  ].map((host) =>
    [
      `host ${JSON.stringify(host).slice(0, 40)}`,
      { rules: [rule(host, "/", "web")] },
    ] as const
  ),
  ...["relative", "/a//b", "/a/./b", "/a/../b", "/a%2fb"].map((path) =>
    [`path ${path}`, { rules: [rule("refused.example.com", path, "web")] }] as const
  ),
  ["a Service's name", { rules: [rule("refused.example.com", "/", "Not_A_Name")] }],
  ["a port of 0", { rules: [rule("refused.example.com", "/", "web", { number: 0 })] }],
  ["a port's name", { rules: [rule("refused.example.com", "/", "web", { name: "a_b" })] }],
  ["a port of both", {
    rules: [rule("refused.example.com", "/", "web", { name: "http", number: 80 })],
  }],
  ["no rules", { rules: [] }],
  ["a Secret's name", { tls: [{ hosts: ["refused.example.com"], secretName: "Not_A_Name" }] }],
  ["a TLS host", { tls: [{ hosts: ["bad_host"], secretName: "web" }] }],
];
