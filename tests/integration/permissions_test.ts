/**
 * What the proxy could do if its code were not its own: the same permissions, held by code that
 * tries. And what the proxy itself does when its configuration asks for it.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { parseProxyOptions, type ProxyOptions } from "../../proxy/cli/options.ts";
import { nameServersOf, supervisorRights } from "../../proxy/cli/permissions.ts";
import type { Snapshot } from "../../shared/snapshot/types.ts";
import { Backend, Peer, refusingPort, statusOf } from "../support/backend.ts";
import { freeRange } from "../support/gateway_listeners.ts";
import { ProxyProcess } from "../support/proxy_process.ts";
import { allowed, watchedPort } from "../support/rights_findings.ts";
import type { ProbeFindings } from "../support/rights_probe.ts";
import { snapshotOf } from "../support/test_proxy.ts";

const ROOT = join(import.meta.dirname!, "..", "..");

/** Never to be dialled, under each name that it has. */
const METADATA = [
  "169.254.169.254 80",
  "::ffff:169.254.169.254 80",
  "::ffff:a9fe:a9fe 80",
  "2852039166 80",
  "0xa9.0xfe.0xa9.0xfe 80",
  "169.254.170.2 80",
  "fd00:ec2::254 80",
];

interface Findings {
  /** The thread that reads the configuration. */
  readonly supervisor: ProbeFindings;
  /** One that carries traffic. */
  readonly worker: ProbeFindings;
  /** One that does in place of another. */
  readonly replacement: ProbeFindings;
  /** The thread that was started first. */
  readonly first: ProbeFindings;
}

/** What code could do in each thread of a proxy with these flags, and could dial of `dial`. */
async function probe(flags: readonly string[], dial: readonly string[]): Promise<Findings> {
  const folder = await Deno.makeTempDir();
  try {
    await Deno.writeTextFile(join(folder, "snapshot.json"), "{}");
    const { tasks } = JSON.parse(await Deno.readTextFile(join(ROOT, "deno.json")));
    const command: string[] = tasks.proxy.command.split(" ").slice(1, -1);
    const child = new Deno.Command(Deno.execPath(), {
      args: [
        ...command,
        "tests/support/narrowed_process.ts",
        `--config=${join(folder, "snapshot.json")}`,
        ...flags,
      ],
      cwd: ROOT,
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    const writer = child.stdin.getWriter();
    await writer.write(new TextEncoder().encode(JSON.stringify(dial)));
    await writer.close();
    const { stdout, stderr } = await child.output();
    const text = new TextDecoder().decode(stdout);
    assert.notEqual(text, "", new TextDecoder().decode(stderr));
    assert.deepEqual([...Deno.readDirSync(folder)].map(({ name }) => name), ["snapshot.json"]);
    return JSON.parse(text);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("with networks, code in the proxy reaches them and its own listeners, reads its folder, and nothing else", async () => {
  using inside = watchedPort("127.0.0.2");
  using outside = watchedPort("0.0.0.0");
  const own = refusingPort();
  const flags = [
    `--listen-http=127.0.0.1:${own}`,
    "--listen-https=[::1]:18443",
    "--admin=127.0.0.1:19090",
    "--upstream-networks=127.0.0.2/32,::1/128",
  ];
  const { port } = outside;
  const findings = await probe(flags, [
    ...METADATA,
    `127.0.0.1 ${port}`,
    `127.0.0.3 ${port}`,
    `::ffff:127.0.0.1 ${port}`,
    `0.0.0.0 ${port}`,
    `localhost ${port}`,
    "::1 9",
    "::2 9",
    `10.0.0.1 ${port}`,
    `fd13::1 ${port}`,
    `127.0.0.1 ${own}`,
    `127.0.0.2 ${inside.port}`,
  ]);
  // The configuration's text is what reading it finds.
  const sixth = findings.worker["dial ::1 9"];
  assert.notEqual(sixth, "NotCapable");
  const dials = {
    // Refused, or not there: some machines have no IPv6.
    "dial ::1 9": sixth,
    [`dial 127.0.0.2 ${inside.port}`]: "done",
    // The right to listen is a right to dial; nobody listens here. `networks.ts` refuses it.
    [`dial 127.0.0.1 ${own}`]: "ConnectionRefused",
  };
  assert.deepEqual(allowed(findings.supervisor), { "read the configuration": "{}", ...dials });
  assert.deepEqual(allowed(findings.worker), dials);
  assert.deepEqual(allowed(findings.replacement), dials);
  assert.deepEqual(allowed(findings.first), {});
  assert.equal(inside.calls, 3);
  assert.equal(outside.calls, 0);
});

Deno.test("with --listen-range, code in the proxy also reaches these ports of its own address, and no others", async () => {
  const { from, to } = freeRange(3);
  const own = refusingPort();
  const flags = [
    `--listen-http=127.0.0.1:${own}`,
    "--admin=127.0.0.1:19090",
    "--upstream-networks=127.0.0.2/32",
    `--listen-range=${from}-${to}`,
  ];
  const ports = [from - 1, from, from + 1, to, to + 1];
  const findings = await probe(flags, [
    ...ports.map((port) => `127.0.0.1 ${port}`),
    `127.0.0.3 ${from}`,
    `localhost ${from}`,
  ]);
  // The right to listen is a right to dial; nobody listens here. `networks.ts` refuses it.
  const dials = Object.fromEntries(
    ports.slice(1, -1).map((port) => [`dial 127.0.0.1 ${port}`, "ConnectionRefused"]),
  );
  assert.deepEqual(allowed(findings.supervisor), { "read the configuration": "{}", ...dials });
  assert.deepEqual(allowed(findings.worker), dials);
  assert.deepEqual(allowed(findings.replacement), dials);
  assert.deepEqual(allowed(findings.first), {});
});

Deno.test("with a controller, code in the proxy also reaches that port, and reads its two files' folder", async () => {
  using controller = watchedPort("127.0.0.1");
  using other = watchedPort("127.0.0.1");
  const folder = await Deno.makeTempDir();
  try {
    const flags = [
      "--admin=127.0.0.1:19090",
      "--upstream-networks=127.0.0.2/32",
      `--controller=https://localhost:${controller.port}`,
      `--controller-ca=${join(folder, "ca.crt")}`,
      `--controller-token=${join(folder, "token")}`,
    ];
    const ports = [controller.port, other.port];
    const dials = ports.flatMap((port) => [`localhost ${port}`, `127.0.0.1 ${port}`]);
    const findings = await probe(flags, dials);
    const reached = { [`dial localhost ${controller.port}`]: "done" };
    assert.deepEqual(allowed(findings.supervisor), { "read the configuration": "{}", ...reached });
    assert.deepEqual(allowed(findings.worker), reached);
    assert.deepEqual(allowed(findings.replacement), reached);
    assert.deepEqual(allowed(findings.first), {});
    assert.equal(other.calls, 0);
    const parsed = parseProxyOptions(["--config=/etc/pingress/proxy.json", ...flags]);
    assert.equal(parsed.kind, "ok");
    const { read } = supervisorRights((parsed as { options: ProxyOptions }).options, []);
    assert.ok((read as string[]).includes("/etc/pingress"));
    assert.ok((read as string[]).includes(folder));
  } finally {
    await Deno.remove(folder);
  }
});

// Deno 2.9 cannot permit a block of IPv6 addresses: then `networks.ts` is the bound.
for (const networks of [null, "127.0.0.2/32,fd12::/64"]) {
  Deno.test(`with ${networks ?? "no networks"}, code in the proxy reaches everything but cloud metadata services`, async () => {
    using inside = watchedPort("127.0.0.2");
    const dial = `127.0.0.2 ${inside.port}`;
    const flags = networks === null ? [] : [`--upstream-networks=${networks}`];
    const findings = await probe(["--admin=127.0.0.1:19090", ...flags], [...METADATA, dial]);
    for (const thread of ["supervisor", "worker"] as const) {
      for (const target of METADATA) {
        assert.equal(findings[thread][`dial ${target}`], "NotCapable", `${thread}: ${target}`);
      }
      assert.equal(findings[thread]["fetch metadata"], "NotCapable", thread);
      assert.equal(findings[thread][`dial ${dial}`], "done", thread);
    }
    assert.deepEqual(allowed(findings.first), {});
  });
}

for (const workers of [1, 2]) {
  Deno.test(`with ${workers} workers, denied endpoints give 502, without a connection attempt`, async () => {
    using local = watchedPort("0.0.0.0");
    const { port } = local;
    const addresses = [
      "169.254.169.254",
      "::ffff:169.254.169.254",
      "64:ff9b::a9fe:a9fe",
      "fe80::1",
      "fd00:ec2::254",
      "127.0.0.1",
      "::ffff:127.0.0.1",
      "::1",
      "0.0.0.0",
      "::",
      "224.0.0.1",
      "255.255.255.255",
    ];
    const snapshot = hostsTo([
      ...addresses.map((address) => ({ address, port })),
      // A name is looked up first, and what it stands for is judged.
      { name: "localhost", port },
    ]);
    const args = [`--workers=${workers}`];
    await using proxy = await ProxyProcess.start({ snapshot, args });
    for (const { host } of snapshot.routes) {
      using client = await Peer.connect(proxy.httpPort);
      const answer = await client.ask(`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
      assert.equal(statusOf(answer), 502, host);
    }
    const { text } = await proxy.admin("/metrics");
    const count = snapshot.routes.length;
    assert.ok(text.includes(`pingress_request_errors_total{code="upstream_refused"} ${count}\n`));
    assert.equal(local.calls, 0);
  });
}

Deno.test("endpoints that are the proxy's own listeners give 502, including its admin port", async () => {
  const flags = ["--allow-loopback-upstreams", "--workers=2"];
  await using proxy = await ProxyProcess.start({ snapshot: snapshotOf([]), args: flags });
  const own = [proxy.httpPort, proxy.httpsPort, proxy.adminPort];
  const snapshot = hostsTo(own.flatMap((port) => [
    { address: "127.0.0.1", port },
    { address: "::ffff:127.0.0.1", port },
    { name: "localhost", port },
  ]));
  await proxy.replace(snapshot);
  for (const { host } of snapshot.routes) {
    for (;;) {
      using client = await Peer.connect(proxy.httpPort);
      const status = statusOf(await client.ask(`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`));
      // Until the new configuration is in force.
      if (status === 503) continue;
      assert.equal(status, 502, host);
      break;
    }
  }
});

for (const workers of [1, 2]) {
  Deno.test(`with ${workers} workers, a proxy with networks serves the endpoints in them`, async () => {
    await using backend = new Backend();
    const args = [`--workers=${workers}`, "--allow-loopback-upstreams"];
    await using proxy = await ProxyProcess.start({
      snapshot: hostsTo([
        { address: "127.0.0.1", port: backend.port },
        { address: "127.1.0.1", port: backend.port },
      ]),
      args: [...args, "--upstream-networks=127.0.0.0/16"],
    });
    using client = await Peer.connect(proxy.httpPort);
    for (const [host, status] of [["h0.test", 200], ["h1.test", 502]] as const) {
      assert.equal(statusOf(await client.ask(`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`)), status);
    }
    const { text } = await proxy.admin("/metrics");
    assert.ok(text.includes('pingress_request_errors_total{code="upstream_refused"} 1\n'));
  });
}

Deno.test("a certificate in another folder is not read, and the log has the remedy", async () => {
  const elsewhere = await Deno.makeTempDir();
  const golden = join(ROOT, "tests/golden/certificates");
  for (const name of ["app.crt", "app.key"]) {
    await Deno.copyFile(join(golden, name), join(elsewhere, name));
  }
  const snapshot: Snapshot = {
    ...snapshotOf([]),
    certificates: [{
      id: "test/app",
      hosts: ["app.example.com"],
      chain: { kind: "file", path: join(elsewhere, "app.crt") },
      key: { kind: "file", path: join(elsewhere, "app.key") },
      origin: { kind: "Secret", namespace: "test", name: "app", field: "data" },
    }],
  };
  try {
    {
      await using proxy = await ProxyProcess.start({ snapshot });
      const { problem } = await proxy.line("Certificate rejected");
      assert.match(String(problem), /app\.crt is in neither .*: name its folder with --watch/);
    }
    await using proxy = await ProxyProcess.start({ snapshot, args: [`--watch=${elsewhere}`] });
    assert.ok(proxy.lines.every(({ message }) => message !== "Certificate rejected"));
  } finally {
    await Deno.remove(elsewhere, { recursive: true });
  }
});

Deno.test("a proxy without permission to read its configuration reports the missing flag", async () => {
  const { code, stdout } = await new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "-P=proxy", "--no-prompt", `--allow-read=${ROOT}`, "proxy/main.ts"],
      "--config=/etc/pingress/snapshot.json",
    ],
    cwd: ROOT,
    stderr: "null",
  }).output();
  assert.equal(code, 1);
  assert.match(new TextDecoder().decode(stdout), /add --allow-read=\/etc\/pingress/);
});

Deno.test("a proxy that is started with fewer permissions serves with them", async () => {
  using inside = watchedPort("127.0.0.2");
  const folder = await Deno.makeTempDir();
  const { tasks } = JSON.parse(await Deno.readTextFile(join(ROOT, "deno.json")));
  try {
    await Deno.writeTextFile(join(folder, "snapshot.json"), JSON.stringify({ x: 1 }));
    const child = new Deno.Command(Deno.execPath(), {
      args: [
        ...tasks.proxy.command.split(" ").slice(1, -1),
        `--allow-read=${folder},${ROOT}`,
        "--allow-net=127.0.0.2/32",
        "tests/support/narrowed_process.ts",
        `--config=${join(folder, "snapshot.json")}`,
        "--upstream-networks=10.0.0.0/8",
      ],
      cwd: ROOT,
      stdin: "piped",
      stdout: "piped",
    }).spawn();
    const writer = child.stdin.getWriter();
    const dial = ["10.0.0.1 9", "127.0.0.1 9", `127.0.0.2 ${inside.port}`];
    await writer.write(new TextEncoder().encode(JSON.stringify(dial)));
    await writer.close();
    const findings: Findings = JSON.parse(new TextDecoder().decode((await child.output()).stdout));
    const reached = { [`dial 127.0.0.2 ${inside.port}`]: "done" };
    assert.deepEqual(allowed(findings.worker), reached);
    assert.deepEqual(allowed(findings.replacement), reached);
    assert.deepEqual(Object.keys(allowed(findings.supervisor)), [
      "read the configuration",
      ...Object.keys(reached),
    ]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("name servers are those of resolv.conf that may be dialled", async () => {
  const file = await Deno.makeTempFile();
  try {
    await Deno.writeTextFile(
      file,
      "search svc.cluster.local\nnameserver 10.96.0.10\n  nameserver\tfd00::a # second\n" +
        "#nameserver 10.0.0.1\nnameserver fe80::1%eth0\nnameserver example.com\n",
    );
    assert.deepEqual(nameServersOf(file), ["10.96.0.10", "fd00::a"]);
    assert.deepEqual(nameServersOf(`${file}.none`), []);
  } finally {
    await Deno.remove(file);
  }
});

type Target = { readonly address: string; readonly port: number } | {
  readonly name: string;
  readonly port: number;
};

/** `h0.test` to the first target, `h1.test` to the second, and so on. */
function hostsTo(targets: readonly Target[]): Snapshot {
  const base = snapshotOf([]);
  return {
    ...base,
    routes: targets.map((_, i) => ({
      ...base.routes[0],
      id: `h${i}.test Prefix /`,
      host: `h${i}.test`,
      action: { kind: "forward" as const, backends: [{ upstream: `test/h${i}:80` }] },
    })),
    upstreams: targets.map((target, i) => ({
      id: `test/h${i}:80`,
      protocol: "http" as const,
      addresses: "name" in target
        ? { kind: "dns" as const, name: target.name, port: target.port }
        : { kind: "endpoints" as const, endpoints: [target] },
    })),
  };
}
