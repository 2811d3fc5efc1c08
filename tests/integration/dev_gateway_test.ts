/** Gateways and HTTPRoutes of a folder that `deno task dev` serves, on ports of their own and on those of Ingresses. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { get, getSecurely, withDev, withFolder, withProgram } from "../support/dev_process.ts";
import type { Output } from "../support/dev_process.ts";

const API = "apiVersion: gateway.networking.k8s.io/v1";

function gateway(name: string, listeners: string): string {
  return `${API}
kind: Gateway
metadata: { name: ${name} }
spec: { gatewayClassName: pingress, listeners: [${listeners}] }
---
`;
}

function route(name: string, parents: string, rest: string): string {
  return `${API}
kind: HTTPRoute
metadata: { name: ${name} }
spec: { parentRefs: [${parents}], ${rest} }
---
`;
}

function service(name: string): string {
  return `apiVersion: v1\nkind: Service\nmetadata: { name: ${name} }\nspec: { ports: [{ port: 80 }] }\n---\n`;
}

/** Each Gateway has ports of its own. */
const OWN = "--backend=LoadBalancer";

const HTTP = "{ name: http, port: 80, protocol: HTTP }";
const HTTPS = "{ name: https, port: 443, protocol: HTTPS, hostname: '*.example.com', " +
  "tls: { certificateRefs: [{ name: gone }] } }";

const to = (name: string) => `rules: [{ backendRefs: [{ name: ${name}, port: 80 }] }]`;

/** The local port of a Gateway's listener, as it is printed after `from`. */
async function portOf(output: Output, name: string, listener: string, from = 0): Promise<number> {
  const pattern = new RegExp(
    `\\nGateway default/${name}\\n(?:  .*\\n)*?  ${listener} .*https?://127\\.0\\.0\\.1:(\\d+)\\n`,
  );
  return Number((await output.match(pattern, from))[1]);
}

Deno.test("each Gateway is served on local ports of its own, and the folder needs no GatewayClass", async () => {
  const files = {
    "a.yaml": gateway("one", HTTP) + gateway("two", HTTP) + service("web") + service("api") +
      route("a", "{ name: one }", `hostnames: [a.example.com], ${to("web")}`) +
      route("b", "{ name: two }", to("api")),
  };
  await withFolder(files, async (folder) => {
    await withDev([folder, OWN], async ({ http, output }) => {
      const one = await portOf(output, "one", "http");
      const two = await portOf(output, "two", "http");
      assert.notEqual(one, two);
      const [a, b, none] = await Promise.all([
        get(one, "a.example.com", "/x"),
        get(two, "a.example.com", "/x"),
        get(one, "b.example.com", "/x"),
      ]);
      assert.deepEqual([a.status, a.headers["x-sample-service"]], [200, "default/web"]);
      assert.deepEqual([b.status, b.headers["x-sample-service"]], [200, "default/api"]);
      assert.equal(none.status, 404);
      // The port of Ingresses serves no Gateway.
      assert.equal((await get(http, "a.example.com", "/x")).status, 404);
      await output.match(/\nNo problems\n/);
    });
  });
});

Deno.test("an HTTPS listener whose Secret is not in the folder shows a generated certificate", async () => {
  const files = {
    "a.yaml": gateway("web", HTTPS) + service("web") +
      route("a", "{ name: web }", `hostnames: [a.example.com], ${to("web")}`),
  };
  await withFolder(files, async (folder) => {
    await withDev([folder, OWN], async ({ output }) => {
      await output.match(
        /InvalidCertificateRef|Secret default\/gone does not exist\n.*this program generates\n/,
      );
      const port = await portOf(output, "web", "https");
      const { body, certificate } = await getSecurely(port, "a.example.com", "/x");
      assert.match(body, /\nGET \/x\n/);
      assert.match(body, /\nx-forwarded-proto: https\n/);
      assert.match(certificate ?? "", /DNS:\*\.example\.com, DNS:a\.example\.com/);
    });
  });
});

Deno.test("a Gateway keeps its local port while the folder changes, and others come and go", async () => {
  const files = {
    "a.yaml": gateway("web", HTTP) + route("a", "{ name: web }", to("web")) + service("web"),
  };
  await withFolder(files, async (folder) => {
    await withDev([folder, OWN], async ({ output }) => {
      const port = await portOf(output, "web", "http");
      assert.equal((await get(port, "a.example.com", "/")).status, 200);

      let end = output.end;
      await Deno.writeTextFile(
        join(folder, "b.yaml"),
        gateway("another", HTTP) + route("b", "{ name: another }", to("web")),
      );
      const other = await portOf(output, "another", "http", end);
      assert.equal(await portOf(output, "web", "http", end), port);
      assert.equal((await get(other, "a.example.com", "/")).status, 200);

      await output.match(/problems/, end);
      end = output.end;
      await Deno.remove(join(folder, "b.yaml"));
      assert.equal(await portOf(output, "web", "http", end), port);
      await assert.rejects(until(() => get(other, "a.example.com", "/").then(() => false)));
      assert.equal((await get(port, "a.example.com", "/")).status, 200);

      await output.match(/problems/, end);
      end = output.end;
      await Deno.remove(join(folder, "a.yaml"));
      await output.match(/- \(any host\) \/[^]*applied in/, end);
      end = output.end;
      await Deno.writeTextFile(join(folder, "a.yaml"), files["a.yaml"]);
      assert.equal(await portOf(output, "web", "http", end), port);
    });
  });
});

Deno.test("a port that another program has is passed over", async () => {
  const files = {
    "a.yaml": gateway("web", HTTP) + route("a", "{ name: web }", to("web")) + service("web"),
  };
  await withFolder(files, async (folder) => {
    let first = 0;
    await withDev([folder, OWN], async ({ output }) => {
      first = await portOf(output, "web", "http");
    });
    using _taken = Deno.listen({ hostname: "127.0.0.1", port: first });
    await withDev([folder, OWN], async ({ output }) => {
      const port = await portOf(output, "web", "http");
      assert.notEqual(port, first);
      assert.equal((await get(port, "a.example.com", "/")).status, 200);
    });
  });
});

Deno.test("requests of a route are shared by weight, and --map sends a share to a program", async () => {
  const shared = "rules: [{ backendRefs: [{ name: web, port: 80, weight: 0 }, " +
    "{ name: api, port: 80, weight: 1 }] }]";
  const files = {
    "a.yaml": gateway("web", HTTP) + route("a", "{ name: web }", shared) + service("web"),
  };
  await withProgram("mine", async (mine) => {
    await withFolder(files, async (folder) => {
      await withDev([folder, OWN, `--map=default/api=127.0.0.1:${mine}`], async ({ output }) => {
        const port = await portOf(output, "web", "http");
        assert.equal((await get(port, "a.example.com", "/")).body, "mine");
        await output.match(new RegExp(`default/api:80 +127\\.0\\.0\\.1:${mine} \\(--map\\)`));
      });
    });
  });
});

Deno.test("Gateways and Ingresses of one folder are served side by side, and problems are printed with their places", async () => {
  const files = {
    "gateway.yaml": gateway("web", `${HTTP}, { name: tcp, port: 5432, protocol: TCP }`) +
      route("a", "{ name: web }", to("gone")),
    "ingress.yaml": `apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: { name: app }
spec:
  rules:
    - host: a.example.com
      http:
        paths:
          - { path: /, pathType: Prefix, backend: { service: { name: web, port: { number: 80 } } } }
---
${service("web")}`,
  };
  await withFolder(files, async (folder) => {
    await withDev([folder, OWN], async ({ http, output }) => {
      const port = await portOf(output, "web", "http");
      assert.equal((await get(http, "a.example.com", "/")).status, 200);
      assert.equal((await get(port, "a.example.com", "/")).status, 500);
      for (
        const line of [
          /\nHOST +PATH +BACKEND +TLS +GOES TO\na\.example\.com +Prefix \//,
          /\n {2}tcp +- +- +not served: UnsupportedProtocol\n/,
          /\nGateway default\/web\n {2}error {2}UnsupportedProtocol {2}\S*gateway\.yaml:4:\d+ {2}spec\.listeners\[1\]\.protocol\n(?: {4}.*\n){2} {4}protocol "TCP" is not supported\n {4}→ Write HTTP or HTTPS\n/,
          /\nHTTPRoute default\/a\n {2}error {2}BackendNotFound {2}\S*gateway\.yaml:9:\d+ {2}spec\.rules\[0\]\.backendRefs\[0\]\n/,
        ]
      ) await output.match(line);
    });
  });
});

Deno.test("without a flag, Gateways are served where Ingresses are, each host for its owner", async () => {
  const files = {
    "a.yaml": gateway("web", `${HTTP}, ${HTTPS}, { name: alt, port: 8080, protocol: HTTP }`) +
      route("a", "{ name: web }", `hostnames: [a.example.com], ${to("web")}`) + service("web"),
  };
  await withFolder(files, async (folder) => {
    await withDev([folder], async ({ http, https, output }) => {
      const [a, none] = await Promise.all([
        get(http, "a.example.com", "/x"),
        get(http, "b.example.com", "/x"),
      ]);
      assert.deepEqual([a.status, a.headers["x-sample-service"]], [200, "default/web"]);
      assert.equal(none.status, 404);
      const { certificate } = await getSecurely(https, "a.example.com", "/x");
      assert.match(certificate ?? "", /DNS:a\.example\.com/);
      for (
        const line of [
          new RegExp(`\n {2}http +80 +\\(any\\) +http://127\\.0\\.0\\.1:${http}\n`),
          new RegExp(`\n {2}https +443 +\\S+ +https://127\\.0\\.0\\.1:${https}\n`),
          /\n {2}alt +- +- +not served: PortUnavailable\n/,
          new RegExp(`\n {2}curl -H "Host: a\\.example\\.com" http://127\\.0\\.0\\.1:${http}/\n`),
          new RegExp(`\n {2}curl --cacert \\S+ --resolve a\\.example\\.com:${https}:`),
          /\n {4}→ [^\n]*, or start with --backend=LoadBalancer if the controller does\n/,
        ]
      ) await output.match(line);
    });
  });
});

/** Rejects with what the attempt rejects with; tries again while it resolves to false. */
async function until(attempt: () => Promise<boolean>): Promise<void> {
  while (!await attempt()) await new Promise((resolve) => setTimeout(resolve, 20));
}
