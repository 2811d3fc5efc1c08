/** Colours of `deno task dev` and `deno task lint` in a pipe, which the environment decides as for other commands. */
import assert from "node:assert/strict";
import { FREE_PORTS, Output, spawn, withFolder } from "../support/dev_process.ts";

/** With a problem of each severity that is coloured. */
const BROKEN = `apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: app
  annotations: { nginx.ingress.kubernetes.io/limit-rps: "1" }
spec:
  ingressClassName: nginx
  rules:
    - host: app.example.com
      http:
        paths:
          - { path: /, pathType: Prefix, backend: { service: { name: none, port: { number: 80 } } } }
`;

// deno-lint-ignore no-control-regex
const COLOUR = /\x1b\[\d+m/;

for (
  const [what, environment, isColoured] of [
    ["none", {}, false],
    ["FORCE_COLOR", { FORCE_COLOR: "1" }, true],
    ["FORCE_COLOR=0", { FORCE_COLOR: "0" }, false],
    ["NO_COLOR", { NO_COLOR: "1" }, false],
    ["both, of which NO_COLOR wins", { NO_COLOR: "1", FORCE_COLOR: "1" }, false],
  ] as const
) {
  Deno.test(`dev and lint have colours in a pipe by the environment: ${what}`, async () => {
    await withFolder({ "a.yaml": BROKEN }, async (folder) => {
      const variables = { NO_COLOR: "", ...environment };
      const dev = spawn("dev", [folder, "--nginx-class=nginx", ...FREE_PORTS], variables);
      const output = new Output(dev.stdout);
      const errors = new Output(dev.stderr);
      try {
        await output.match(/Compared with ingress-nginx/);
      } finally {
        dev.kill("SIGTERM");
      }
      await dev.status;
      const linted = await spawn("lint", [folder], variables).output();
      for (
        const text of [
          await output.all() + await errors.all(),
          new TextDecoder().decode(linted.stdout) + new TextDecoder().decode(linted.stderr),
        ]
      ) {
        assert.equal(COLOUR.test(text), isColoured, text);
      }
    });
  });
}
