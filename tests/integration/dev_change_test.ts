/** Manifests that are saved while `deno task dev` serves them. */
import assert from "node:assert/strict";
import { join } from "node:path";
import type { ServerCertificate } from "../../proxy/certificates/store.ts";
import { ReloadLoad } from "../soak/reload_load.ts";
import { HOST, HOST_WITH_FILES } from "../soak/reload_plan.ts";
import { playAs } from "../soak/reloads.ts";
import { Backend } from "../support/backend.ts";
import { get, KeptConnection, manifest, withDev, withFolder } from "../support/dev_process.ts";
import { certificateFor } from "../support/tls_proxy.ts";

Deno.test("a saved manifest is served at once, and connections are not affected", async () => {
  await withFolder({ "a.yaml": manifest("old.example.com") }, async (folder) => {
    await withDev([folder], async ({ http, output }) => {
      const connect = async () =>
        new KeptConnection(await Deno.connect({ hostname: "127.0.0.1", port: http }));
      const [idle, busy] = [await connect(), await connect()];
      try {
        await idle.send("GET /1 HTTP/1.1\r\nHost: old.example.com\r\n\r\n");
        assert.match((await idle.answer()).head, /^HTTP\/1\.1 200 /);
        await busy.send(
          "POST /upload HTTP/1.1\r\nHost: old.example.com\r\nContent-Length: 10\r\n\r\nhello",
        );

        const end = output.end;
        await Deno.writeTextFile(join(folder, "a.yaml"), manifest("new.example.com"));
        await output.match(
          /^~ old\.example\.com \/ → new\.example\.com \/ \(.+a\.yaml:10\) {2}applied in \d+ ms · 0 problems$/m,
          end,
        );

        await idle.send("GET /2 HTTP/1.1\r\nHost: new.example.com\r\n\r\n");
        assert.match((await idle.answer()).head, /^HTTP\/1\.1 200 /);
        await idle.send("GET /3 HTTP/1.1\r\nHost: old.example.com\r\n\r\n");
        assert.match((await idle.answer()).head, /^HTTP\/1\.1 404 /);
        await busy.send("world");
        const { head, body } = await busy.answer();
        assert.match(head, /^HTTP\/1\.1 200 /);
        assert.match(body, /hello[^]*world/);
      } finally {
        idle.close();
        busy.close();
      }
    });
  });
});

Deno.test("a half-saved manifest keeps its last valid content", async () => {
  await withFolder({ "a.yaml": manifest("a.example.com") }, async (folder) => {
    await withDev([folder], async ({ http, output }) => {
      let end = output.end;
      const text = manifest("b.example.com");
      await Deno.writeTextFile(join(folder, "a.yaml"), `${text.slice(0, 250)}\n  - [`);
      await output.match(/a\.yaml:\d+:\d+ {2}error[^]*last good version is served/, end);
      assert.equal((await get(http, "a.example.com", "/")).status, 200);
      end = output.end;
      await Deno.writeTextFile(join(folder, "a.yaml"), text);
      await output.match(/b\.example\.com \/ .* · 0 problems \(1 mended\)/, end);
      assert.equal((await get(http, "a.example.com", "/")).status, 404);
      assert.equal((await get(http, "b.example.com", "/")).status, 200);
    });
  });
});

Deno.test("a save that changes nothing that is served prints nothing", async () => {
  const text = manifest("a.example.com");
  await withFolder({ "a.yaml": text, "README.md": "# Ours" }, async (folder) => {
    await withDev([folder], async ({ output, admin }) => {
      await output.match(/Watching .* for changes\.\n/);
      const end = output.end;
      for (const name of ["README.md", ".a.yaml.swp", "a.yaml"]) {
        const before = await readings(admin);
        await Deno.writeTextFile(join(folder, name), `# a comment\n${text}`);
        while (await readings(admin) === before) {
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
      }
      await Deno.writeTextFile(join(folder, "a.yaml"), manifest("b.example.com"));
      await output.match(/applied in .*\n/, end);
      assert.match(output.since(end), /^~ a\.example\.com \/ → b\.example\.com \/ .*\n$/);
    });
  });
});

/** How often the folder has been read, and applied. */
async function readings(admin: number): Promise<string> {
  const { body } = await get(admin, `127.0.0.1:${admin}`, "/metrics");
  return /^pingress_snapshot_loads_total\{result="applied"\} .*$/m.exec(body)![0];
}

const HOSTS = [HOST, HOST_WITH_FILES];

/** Two versions of the certificate of each host. */
async function certificateVersions(): Promise<ServerCertificate[][]> {
  const of = (version: string) =>
    Promise.all(HOSTS.map((host) => certificateFor(host, { names: [host, `${version}.${host}`] })));
  return [await of("v1"), await of("v2")];
}

/** Both hosts and one that comes with the step, to the program on this port, and their Secrets. */
function manifestsOf(step: number, port: number, certificates: readonly ServerCertificate[]) {
  const ingress = (host: string, more = "") =>
    `apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: { name: ${host} }
spec:
  ingressClassName: pingress
  ${more}
  rules:
    - host: ${host}
      http:
        paths:
          - path: /
            pathType: Prefix
            backend: { service: { name: web, port: { number: 80 } } }
`;
  const secret = ({ id, chain, key }: ServerCertificate) =>
    `apiVersion: v1
kind: Secret
metadata: { name: ${id} }
type: kubernetes.io/tls
data: { tls.crt: ${btoa(chain)}, tls.key: ${btoa(key.reveal())} }
`;
  const service = `apiVersion: v1
kind: Service
metadata: { name: web, annotations: { dev.pingress.io/endpoint: "127.0.0.1:${port}" } }
spec: { ports: [{ port: 80 }] }
`;
  return [
    ...HOSTS.map((host) => ingress(host, `tls: [{ hosts: [${host}], secretName: ${host} }]`)),
    ingress(`step${step}.test`),
    service,
    ...certificates.map(secret),
  ].join("---\n");
}

Deno.test("saving under load drops no request, handshake, WebSocket or connection", async () => {
  await using blue = new Backend(playAs("blue"));
  await using green = new Backend(playAs("green"));
  const versions = await certificateVersions();
  const manifests = (step: number) =>
    manifestsOf(step, [blue, green][step % 2].port, versions[(step >> 1) % 2]);
  await withFolder({ "a.yaml": manifests(0) }, async (folder) => {
    await withDev([folder], async ({ http, https, output }) => {
      const names = versions.flat().map(({ hosts }) => hosts.join(" "));
      const load = new ReloadLoad({ httpPort: http, httpsPort: https }, names, false);
      const running = load.run();
      try {
        for (let step = 1; step <= 8; step++) {
          const end = output.end;
          await Deno.writeTextFile(join(folder, "a.yaml"), manifests(step));
          await output.match(new RegExp(`\\+ step${step}\\.test[^]*applied in`), end);
          assert.equal((await get(http, `step${step}.test`, "/")).status, 200);
        }
      } finally {
        load.over = true;
        await running;
      }
      assert.deepEqual(load.failures, []);
      assert.equal(load.closed, 0);
      assert.ok(
        load.requests > 100 && load.handshakes > 10 && load.frames > 50,
        "there was a load",
      );
    });
  });
});
