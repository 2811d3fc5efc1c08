import assert from "node:assert/strict";
import { DEFAULT_LIMITS } from "../http/limits.ts";
import { DEFAULT_ACCESS_LOG } from "../telemetry/access_log/options.ts";
import { parseProxyOptions, PROXY_OPTIONS } from "./options.ts";

function options(...args: string[]) {
  const parsed = parseProxyOptions(["--config", "snapshot.json", ...args]);
  if (parsed.kind !== "ok") assert.fail(parsed.text);
  return parsed.options;
}

Deno.test("without flags every limit has its default", () => {
  assert.deepEqual(options().limits, DEFAULT_LIMITS);
});

/** What each flag takes that is not its default. */
const LIMIT_VALUES: readonly [RegExp, string][] = [
  [/time|age/, "7s"],
  [/head-limit/, "7KiB"],
  [/window/, "77KiB"],
  [/control/, "77"],
  [/slashes/, "true"],
  [/./, "7"],
];

Deno.test("every limit has its own flag", () => {
  const limits = Object.entries(PROXY_OPTIONS).filter(([, spec]) => "group" in spec);
  assert.equal(limits.length, Object.keys(DEFAULT_LIMITS).length);
  const flags = limits.map(([key]) =>
    key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
  );
  const changed = flags.map((flag) => {
    const value = LIMIT_VALUES.find(([names]) => names.test(flag))![1];
    const given = options(`--${flag}=${value}`).limits;
    const names = Object.keys(DEFAULT_LIMITS) as (keyof typeof DEFAULT_LIMITS)[];
    return names.filter((name) => given[name] !== DEFAULT_LIMITS[name]).join();
  });
  assert.deepEqual(changed.sort(), Object.keys(DEFAULT_LIMITS).sort());
});

Deno.test("every default has its reason", () => {
  for (const [key, spec] of Object.entries(PROXY_OPTIONS)) {
    if ("default" in spec) assert.ok("reason" in spec && spec.reason.length > 0, key);
  }
});

Deno.test("HTTP/2 is on for both ports unless its flag turns it off", () => {
  const spoken = (...args: string[]) => {
    const { http2, h2c } = options(...args);
    return { http2, h2c };
  };
  assert.deepEqual(spoken(), { http2: true, h2c: true });
  assert.deepEqual(spoken("--http2=false"), { http2: false, h2c: true });
  assert.deepEqual(spoken("--h2c=false"), { http2: true, h2c: false });
});

Deno.test("a range of ports for listeners contains no port of the proxy's own", () => {
  assert.equal(options().listenRange, null);
  assert.deepEqual(options("--listen-range=10000-10255").listenRange, { from: 10000, to: 10255 });
  assert.deepEqual(options("--listen-range=7-7").listenRange, { from: 7, to: 7 });
  const errors: readonly [args: string[], error: RegExp][] = [
    [["10255-10000"], /range of up to 512 ports/],
    [["0-7"], /range of up to 512 ports/],
    [["65535-65536"], /range of up to 512 ports/],
    [["10000-10512"], /range of up to 512 ports/],
    [["10000"], /range of up to 512 ports/],
    [["8000-8100"], /contains 8080, the port of --listen-http/],
    [["8400-8500"], /contains 8443, the port of --listen-https/],
    // The defaults of a proxy that may listen on them.
    [["80-90"], /contains 80, the port of --listen-http/],
    [["400-500"], /contains 443, the port of --listen-https/],
    [["7000-7100", "--admin=:7010"], /contains 7010, the port of --admin/],
  ];
  for (const [[range, ...rest], error] of errors) {
    const parsed = parseProxyOptions(["--config=x", `--listen-range=${range}`, ...rest]);
    assert.match(parsed.kind === "error" ? parsed.text : parsed.kind, error, range);
  }
  options("--listen-range=80-90", "--listen-http=:8080");
});

Deno.test("HTTP and HTTPS have ports of their own", () => {
  const clashes: readonly string[][] = [
    ["--listen-http=127.0.0.1:8000", "--listen-https=127.0.0.1:8000"],
    ["--listen-http=127.0.0.1:8000", "--listen-https=localhost:8000"],
    ["--listen-http=:8000", "--listen-https=127.0.0.1:8000"],
    ["--listen-http=[::1]:8001", "--listen-http=[::1]:8000", "--listen-https=[::]:8000"],
    // The default of HTTP.
    ["--listen-https=:8080"],
  ];
  for (const args of clashes) {
    const parsed = parseProxyOptions(["--config=x", ...args]);
    const text = parsed.kind === "error" ? parsed.text : parsed.kind;
    assert.match(text, /^--listen-http and --listen-https both have port 80[08]0:/, args.join());
  }
  options("--listen-http=127.0.0.1:0", "--listen-https=127.0.0.1:0");
  options("--listen-http=127.0.0.1:8000", "--listen-https=127.0.0.2:8000");
  options("--listen-http=:8000", "--listen-http=:8000", "--listen-https=:8001");
});

Deno.test("listeners, watched folders and the admin port are used as given", () => {
  const given = options(
    ...["--listen-http", "127.0.0.1:0", "--listen-http", "[::1]:80"],
    ...["--admin", "127.0.0.1:1", "--watch", "a", "--watch", "b"],
    ...["--trusted-proxies", "10.0.0.0/8", "--cluster-domain", "corp.example"],
  );
  assert.deepEqual(given.listenHttp, [
    { hostname: "127.0.0.1", port: 0 },
    { hostname: "::1", port: 80 },
  ]);
  assert.deepEqual(given.admin, { hostname: "127.0.0.1", port: 1 });
  assert.deepEqual(given.watch, ["a", "b"]);
  assert.ok(given.trustedProxies.contains("10.1.2.3"));
  assert.equal(given.clusterDomain, "corp.example");
});

Deno.test("without a listener both ports have a default, and --listen-http adds no HTTPS listener", () => {
  const ports = (...args: string[]) => {
    const { listenHttp, listenHttps, listensByDefault } = options(...args);
    const portsOf = (addresses: typeof listenHttp) => addresses.map(({ port }) => port);
    return [portsOf(listenHttp), portsOf(listenHttps), listensByDefault];
  };
  assert.deepEqual(ports(), [[8080], [8443], true]);
  assert.deepEqual(ports("--listen-http=[::]:1"), [[1], [], false]);
  assert.deepEqual(ports("--listen-https=[::]:1"), [[8080], [1], false]);
});

Deno.test("a missing configuration is an error", () => {
  const parsed = parseProxyOptions([]);
  assert.ok(parsed.kind === "error");
  assert.match(parsed.text, /^--config is needed/);
});

Deno.test("a cluster domain must be a DNS name", () => {
  for (const domain of ["a b", "-a", "a..b", ".", "a/b", "A.B"]) {
    const parsed = parseProxyOptions(["--config=x", `--cluster-domain=${domain}`]);
    assert.equal(parsed.kind, "error", domain);
  }
});

Deno.test("--controller needs a CA and a token, and neither is accepted without it", () => {
  const all = {
    controller: "https://pingress-controller.pingress-system.svc:9443",
    "controller-ca": "/etc/pingress/stream/ca.crt",
    "controller-token": "/etc/pingress/stream/token",
  };
  const parse = (flags: Readonly<Record<string, string>>) =>
    parseProxyOptions([
      "--config=proxy.json",
      ...Object.entries(flags).map(([flag, value]) => `--${flag}=${value}`),
    ]);
  const parsed = parse(all);
  assert.ok(parsed.kind === "ok");
  assert.deepEqual(parsed.options.controller, {
    address: { hostname: "pingress-controller.pingress-system.svc", port: 9443 },
    ca: all["controller-ca"],
    token: all["controller-token"],
  });
  for (let given = 1; given < 7; given++) {
    const flags = Object.fromEntries(Object.entries(all).filter((_, i) => given & (1 << i)));
    const result = parse(flags);
    assert.ok(result.kind === "error");
    for (const flag of Object.keys(all)) {
      const isWanted = new RegExp(`needs .*--${flag}\\b.*too`).test(result.text);
      if (!(flag in flags)) assert.ok(isWanted, `${result.text}: ${flag}`);
    }
  }
});

Deno.test("a controller is given by https, host and port only", () => {
  for (
    const [url, address] of [
      ["https://localhost:9443", { hostname: "localhost", port: 9443 }],
      ["https://[fd00::1]:9443/", { hostname: "fd00::1", port: 9443 }],
      ["https://10.0.0.1", { hostname: "10.0.0.1", port: 443 }],
      ["http://localhost:9443", null],
      ["https://localhost:9443/v1/stream", null],
      ["https://user@localhost:9443", null],
      ["https://localhost:9443?x", null],
      ["localhost:9443", null],
      ["https://", null],
    ] as const
  ) {
    const flags = [`--controller=${url}`, "--controller-ca=ca.crt", "--controller-token=token"];
    const parsed = parseProxyOptions(["--config=proxy.json", ...flags]);
    assert.equal(parsed.kind, address === null ? "error" : "ok", url);
    if (parsed.kind === "ok") assert.deepEqual(parsed.options.controller?.address, address);
  }
});

Deno.test("an access log has what its flags say", () => {
  assert.deepEqual(options().accessLog, DEFAULT_ACCESS_LOG);
  assert.equal(options("--access-log=false", "--access-log-ratio=0.5").accessLog, null);
  assert.deepEqual(
    options("--access-log-fields=status,path", "--access-log-ratio=0.05").accessLog,
    {
      ...DEFAULT_ACCESS_LOG,
      fields: ["status", "path"],
      ratio: 0.05,
    },
  );
  assert.equal(options("--access-log-format=nginx").accessLog?.format, "nginx");
  const errors: readonly [args: string[], error: RegExp][] = [
    [
      ["--access-log-fields=time,statsu"],
      /"time,statsu" is not a list like .*: "statsu" is no field .*did you mean status\?/,
    ],
    [["--access-log-fields="], /--access-log-fields got ""/],
    [["--access-log-format=combined"], /takes one of json, nginx/],
    [["--access-log-ratio=2"], /takes a number from 0 to 1 like 0.05/],
    [["--access-log-format=nginx", "--access-log-fields=time"], /is for lines in JSON: remove it/],
  ];
  for (const [args, error] of errors) {
    const parsed = parseProxyOptions(["--config=x", ...args]);
    assert.ok(parsed.kind === "error", args.join(" "));
    assert.match(parsed.text, error);
  }
});

Deno.test("spans are made if there is somewhere to send them", () => {
  assert.equal(options("--trace-ratio=1").traces, null);
  assert.deepEqual(options("--otlp-endpoint=http://otel:4318").traces, {
    target: { url: "http://otel:4318/v1/traces", serviceName: "pingress" },
    spans: { ratio: 0.01, query: false },
  });
  for (
    const flag of ["--otlp-endpoint=otel:4318", "--trace-service-name=a b", "--trace-ratio=5%"]
  ) {
    assert.equal(parseProxyOptions(["--config=x", flag]).kind, "error", flag);
  }
});
