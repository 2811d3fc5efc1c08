/** What `deno task dev` serves of a folder, and how it ends. */
import assert from "node:assert/strict";
import {
  EXAMPLES,
  get,
  getSecurely,
  KeptConnection,
  manifest,
  PATIENCE,
  withDev,
  withFolder,
  withProgram,
} from "../support/dev_process.ts";
import { Http2Client } from "../support/http2_client.ts";

Deno.test("the examples are served without a problem", async () => {
  await withDev([EXAMPLES], async ({ http, admin, output }) => {
    await output.match(/\nNo problems\n/);
    for (const path of ["/healthz", "/readyz"]) {
      assert.equal((await get(admin, "127.0.0.1", path)).status, 200);
    }
    const routes: readonly (readonly [string, string, string])[] = [
      ["app.example.com", "/api", "default/api"],
      ["app.example.com", "/api/users", "default/api"],
      ["app.example.com", "/apis", "default/web"],
      ["app.example.com", "/api/about", "default/web"],
      ["blue.apps.example.com", "/", "default/web"],
      ["a.b.apps.example.com", "/status", "default/api"],
      ["nobody.example.com", "/any", "default/web"],
    ];
    for (const [name, path, service] of routes) {
      const { status, headers } = await get(http, name, path);
      assert.deepEqual([status, headers["x-sample-service"]], [200, service], name + path);
    }
  });
});

Deno.test("an HTTP/2 Service is reached with either version, and with gRPC", async () => {
  await withDev([EXAMPLES], async ({ http }) => {
    const host = "grpc.example.com";
    const { status, headers } = await get(http, host, "/");
    assert.deepEqual([status, headers["x-sample-service"]], [200, "default/greeter"]);
    using client = await Http2Client.connect(http, { host });
    const { fields, body } = await client.ask({ path: "/here" });
    assert.equal(fields["x-sample-service"], "default/greeter");
    assert.match(body, /\nGET \/here\n/);
    const call = client.call("/sample.Echo/Chat");
    assert.equal(await call.echo("a message"), "a message");
    call.end();
    assert.equal((await call.answer).trailers["grpc-status"], "0");
  });
});

Deno.test("HTTPS uses the certificate of the Secret in the Ingress", async () => {
  await withDev([EXAMPLES], async ({ https }) => {
    const { body, certificate } = await getSecurely(https, "blue.apps.example.com", "/x");
    assert.match(body, /\nGET \/x\n/);
    assert.match(body, /\nx-forwarded-proto: https\n/);
    assert.equal(certificate, "DNS:app.example.com, DNS:*.apps.example.com");
  });
});

Deno.test("with --ssl-redirect plain HTTP is redirected to HTTPS if there is a certificate", async () => {
  await withDev([EXAMPLES, "--ssl-redirect"], async ({ http, https }) => {
    const { status, headers } = await get(http, "app.example.com", "/api");
    assert.equal(status, 308);
    assert.equal(headers.location, `https://app.example.com:${https}/api`);
    assert.equal((await get(http, "nobody.example.com", "/")).status, 200);
  });
});

Deno.test("without --ssl-redirect a host without a Secret stays on plain HTTP, as explain says", async () => {
  const files = {
    "a.yaml": manifest("a.example.com")
      .replace(
        "name: app",
        'name: app, annotations: { nginx.ingress.kubernetes.io/ssl-redirect: "true" }',
      )
      .replace("  rules:", "  tls: [{ hosts: [a.example.com], secretName: missing }]\n  rules:"),
  };
  await withFolder(files, async (folder) => {
    await withDev([folder], async ({ http }) => {
      assert.equal((await get(http, "a.example.com", "/")).status, 200);
    });
    await withDev([folder, "--ssl-redirect"], async ({ http }) => {
      assert.equal((await get(http, "a.example.com", "/")).status, 308);
    });
  });
});

Deno.test("paths are matched as by proxies with --merge-slashes and --refuse-escaped-slashes", async () => {
  const served = async (flags: readonly string[], path: string) => {
    let answer: (number | string | undefined)[] = [];
    await withDev([EXAMPLES, ...flags], async ({ http }) => {
      const { status, headers } = await get(http, "app.example.com", path);
      answer = [status, headers["x-sample-service"]?.toString()];
    });
    return answer;
  };
  assert.deepEqual(await served([], "//api"), [200, "default/web"]);
  assert.deepEqual(await served(["--merge-slashes"], "//api"), [200, "default/api"]);
  assert.deepEqual(await served([], "/api%2fx"), [200, "default/web"]);
  assert.deepEqual(await served(["--refuse-escaped-slashes"], "/api%2fx"), [400, undefined]);
});

Deno.test("an annotation and --map send a Service to the developer's own program", async () => {
  await withProgram("mine", async (mine) => {
    await withProgram("other", async (other) => {
      const annotation = `{ dev.pingress.io/endpoint: "127.0.0.1:${mine}" }`;
      const files = { "a.yaml": manifest("a.example.com", annotation) };
      await withFolder(files, async (folder) => {
        await withDev([folder], async ({ http, output }) => {
          await output.match(new RegExp(`127\\.0\\.0\\.1:${mine} \\(annotation\\)`));
          assert.equal((await get(http, "a.example.com", "/")).body, "mine");
        });
        await withDev(
          [folder, `--map=default/web=localhost:${other}`],
          async ({ http, output }) => {
            await output.match(new RegExp(`localhost:${other} \\(--map\\)`));
            assert.equal((await get(http, "a.example.com", "/")).body, "other");
          },
        );
      });
    });
  });
});

Deno.test("a folder with errors is served as far as it is valid", async () => {
  const files = {
    "good.yaml": manifest("good.example.com"),
    "broken.yaml": "kind: [",
    "host.yaml": manifest("under_score.example.com").replace("name: app", "name: bad"),
    "nginx.yaml": manifest("nginx.example.com").replace("name: app", "name: nginx")
      .replace("ingressClassName: pingress", "ingressClassName: nginx").split("---")[0],
    "web.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: { name: web }\n",
    "without.yaml": manifest("without.example.com").replace("name: app", "name: without")
      .replace("  ingressClassName: pingress\n", "").split("---")[0],
  };
  files["host.yaml"] = files["host.yaml"].split("---")[0];
  await withFolder(files, async (folder) => {
    await withDev([folder], async ({ http, output }) => {
      for (
        const line of [
          /error {2}NotParsable {2}\S*broken\.yaml:1:7\n/,
          /\nIngress default\/bad\n {2}error {2}HostInvalid {2}\S*host\.yaml:7:7 {2}spec\.rules\[0\]\.host\n/,
          /warning {2}ClassNotServed {2}\S*nginx\.yaml:5:3 {2}spec\.ingressClassName\n(?: {4}.*\n){2} {4}not served: class nginx\n {4}→ add --nginx-class nginx\n/,
          /1 info with nothing to do: 1 KindIgnored \(--verbose lists them\)\n/,
        ]
      ) await output.match(line);
      for (const name of ["good", "without"]) {
        assert.equal((await get(http, `${name}.example.com`, "/")).status, 200);
      }
      assert.equal((await get(http, "nginx.example.com", "/")).status, 404);
    });
    await withDev([folder, "--ingress-class=nginx"], async ({ http }) => {
      assert.equal((await get(http, "nginx.example.com", "/")).status, 200);
    });
  });
});

Deno.test("a folder written for ingress-nginx is served in its profile, with lint in short", async () => {
  const nginx = (name: string, annotation: string) =>
    manifest(`${name}.example.com`)
      .replace("name: app", `name: ${name}, annotations: { ${annotation} }`)
      .replace("ingressClassName: pingress", "ingressClassName: nginx");
  const files = {
    "a.yaml": nginx("regex", 'nginx.ingress.kubernetes.io/use-regex: "true"')
      .replace("path: /", "path: /v[0-9]+"),
    "b.yaml":
      nginx("limited", 'nginx.ingress.kubernetes.io/modsecurity-snippet: "x"').split("---")[0],
  };
  await withFolder(files, async (folder) => {
    await withDev([folder, "--nginx-class=nginx"], async ({ http, output }) => {
      await output.match(/Compared with ingress-nginx, 2 Ingresses: 0 OPENS, 1 BREAKS, /);
      await output.match(/ {2}BREAKS {3}default\/limited {2}.*b\.yaml:/);
      await output.match(/deno task lint .* --nginx-class nginx\n/);
      assert.equal((await get(http, "regex.example.com", "/V12")).status, 200);
      assert.equal((await get(http, "regex.example.com", "/w")).status, 404);
      assert.equal((await get(http, "limited.example.com", "/")).status, 503);
    });
  });
});

Deno.test("Ctrl-C lets an exchange in progress finish, and the exit code is 0", async () => {
  await withDev([EXAMPLES], async ({ http, process, output }) => {
    const client = new KeptConnection(await Deno.connect({ hostname: "127.0.0.1", port: http }));
    try {
      await client.send(
        "POST / HTTP/1.1\r\nHost: app.example.com\r\nContent-Length: 4\r\n" +
          "Expect: 100-continue\r\n\r\n",
      );
      // The exchange is under way once somebody asks for its body.
      assert.match((await client.answer()).head, /^HTTP\/1\.1 100 /);
      process.kill("SIGINT");
      // A terminal sends it to the whole group, and `deno task` passes on its own.
      process.kill("SIGINT");
      await listenerIsGone(http);
      await client.send("done");
      const { head, body } = await client.answer();
      assert.match(head, /^HTTP\/1\.1 200 /);
      assert.match(body, /done/);
      assert.equal((await process.status).code, 0);
      assert.match(await output.all(), /\nStopped\.\n$/);
    } finally {
      client.close();
    }
  });
});

async function listenerIsGone(port: number): Promise<void> {
  const end = Date.now() + PATIENCE;
  while (Date.now() < end) {
    try {
      (await Deno.connect({ hostname: "127.0.0.1", port })).close();
    } catch {
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error(`port ${port} is still open`);
}
