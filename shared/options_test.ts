import assert from "node:assert/strict";
import {
  defineOptions,
  formatDuration,
  formatHelp,
  formatSize,
  type OptionSpec,
  parseOptions,
} from "./options.ts";

const PROGRAM = { name: "deno task thing", summary: "Does a thing." };

const SPECS = defineOptions({
  config: { type: "string", value: "FILE", help: "What to do." },
  watch: { type: "string", value: "DIR", repeatable: true, help: "What to watch." },
  verbose: { type: "boolean", help: "Says more." },
  tries: { type: "integer", min: 1, max: 10, default: 2, help: "How often." },
  headTimeout: { type: "duration", min: 1, default: 10_000, reason: "enough", help: "How long." },
  bodyLimit: { type: "size", default: 0, help: "How large." },
  listenHttp: {
    type: "address",
    repeatable: true,
    default: { hostname: "0.0.0.0", port: 8080 },
    help: "Where.",
  },
  trusted: { type: "cidr", help: "Whom." },
  logLevel: { type: "choice", choices: ["info", "warn"], default: "info", help: "What." },
});

function values(...args: string[]) {
  const parsed = parseOptions(PROGRAM, SPECS, args);
  if (parsed.kind !== "ok") assert.fail(parsed.text);
  return parsed.options;
}

function mistake(args: string[], specs: Record<string, OptionSpec> = SPECS): string {
  const parsed = parseOptions(PROGRAM, specs, args);
  if (parsed.kind !== "error") assert.fail(`${args.join(" ")} is taken`);
  return parsed.text;
}

Deno.test("an option that is not given has its default, an empty list or undefined", () => {
  const { trusted, ...others } = values();
  assert.ok(trusted.isEmpty);
  assert.deepEqual(others, {
    config: undefined,
    watch: [],
    verbose: false,
    tries: 2,
    headTimeout: 10_000,
    bodyLimit: 0,
    listenHttp: [{ hostname: "0.0.0.0", port: 8080 }],
    logLevel: "info",
  });
});

Deno.test("values have the types that the specs promise", () => {
  const given = values("--tries", "3", "--log-level=warn");
  const tries: number = given.tries;
  const level: "info" | "warn" = given.logLevel;
  const config: string | undefined = given.config;
  assert.deepEqual([tries, level, config], [3, "warn", undefined]);
});

Deno.test("repeatable flags accumulate and replace their default", () => {
  const given = values(
    "--watch",
    "a",
    "--listen-http",
    ":80",
    "--watch=b",
    "--listen-http=[::]:81",
  );
  assert.deepEqual(given.watch, ["a", "b"]);
  assert.deepEqual(given.listenHttp, [
    { hostname: "0.0.0.0", port: 80 },
    { hostname: "::", port: 81 },
  ]);
});

Deno.test("lists of CIDR blocks accumulate", () => {
  const { trusted } = values("--trusted", "10.0.0.0/8,::1", "--trusted=192.168.1.7");
  assert.equal(trusted.toString(), "10.0.0.0/8,::1/128,192.168.1.7/32");
});

Deno.test("a boolean accepts true, false or nothing", () => {
  assert.equal(values("--verbose").verbose, true);
  assert.equal(values("--verbose=true").verbose, true);
  assert.equal(values("--verbose=false").verbose, false);
  assert.match(mistake(["--verbose=yes"]), /--verbose got "yes"; it takes true or false/);
});

Deno.test("a flag whose value may be left out never accepts the next argument as its value", () => {
  const specs = {
    crds: { type: "string", value: "FILE", bare: "the release", help: "Which." },
  } as const;
  const parse = (...args: string[]) => parseOptions(PROGRAM, { ...SPECS, ...specs }, args);
  const crdsOf = (...args: string[]) => {
    const parsed = parse(...args);
    return parsed.kind === "ok" ? parsed.options.crds : parsed.text;
  };
  assert.equal(crdsOf(), undefined);
  assert.equal(crdsOf("--crds"), "the release");
  assert.equal(crdsOf("--crds", "--verbose"), "the release");
  assert.equal(crdsOf("--crds=a.yaml"), "a.yaml");
  assert.match(crdsOf("--crds", "a.yaml")!, /"a.yaml" is an unexpected argument/);
  assert.match(crdsOf("--crds=")!, /--crds got ""/);
  assert.match(crdsOf("--crds", "--crds")!, /--crds is given twice/);
  assert.ok(formatHelp(PROGRAM, specs).includes("--crds[=FILE]\n"));
});

Deno.test("durations are parsed to milliseconds", async (t) => {
  const table: [string, number | null][] = [
    ["500ms", 500],
    ["10s", 10_000],
    ["1m30s", 90_000],
    ["1h", 3_600_000],
    ["1.5s", 1500],
    ["10", null],
    ["0", null],
    ["-1s", null],
    ["1 s", null],
    ["s", null],
    ["1d", null],
    ["1e3s", null],
    ["600h", null],
    ["99999999999999999999s", null],
  ];
  for (const [text, ms] of table) {
    await t.step(text, () => {
      if (ms === null) {
        assert.match(mistake([`--head-timeout=${text}`]), /takes a duration like 500ms, 10s or 1h/);
      } else assert.equal(values(`--head-timeout=${text}`).headTimeout, ms);
    });
  }
});

Deno.test("sizes are parsed to bytes", async (t) => {
  const table: [string, number | null][] = [
    ["0", 0],
    ["512", 512],
    ["512B", 512],
    ["32KiB", 32768],
    ["32Ki", 32768],
    ["1MiB", 1048576],
    ["2GiB", 2147483648],
    ["1MB", null],
    ["1k", null],
    ["-1", null],
    ["1.5KiB", null],
    ["", null],
  ];
  for (const [text, bytes] of table) {
    await t.step(text, () => {
      if (bytes === null) assert.match(mistake([`--body-limit=${text}`]), /takes a size in bytes/);
      else assert.equal(values(`--body-limit=${text}`).bodyLimit, bytes);
    });
  }
});

Deno.test("an address is an IP address or localhost, and a port", async (t) => {
  const table: [string, string | null, number][] = [
    ["127.0.0.1:9090", "127.0.0.1", 9090],
    ["[::1]:0", "::1", 0],
    ["localhost:80", "localhost", 80],
    [":8080", "0.0.0.0", 8080],
    ["8080", null, 0],
    ["127.0.0.1", null, 0],
    ["127.0.0.1:", null, 0],
    ["127.0.0.1:65536", null, 0],
    ["::1:80", null, 0],
    ["[127.0.0.1]:80", null, 0],
    ["example.com:80", null, 0],
    ["256.0.0.1:80", null, 0],
    ["1.2.3.4:80:90", null, 0],
  ];
  for (const [text, hostname, port] of table) {
    await t.step(text, () => {
      if (hostname === null) {
        assert.match(mistake([`--listen-http=${text}`]), /takes an IP address/);
      } else assert.deepEqual(values(`--listen-http=${text}`).listenHttp, [{ hostname, port }]);
    });
  }
});

Deno.test("an error names the flag, its value and the allowed values", async (t) => {
  const table: [string[], string][] = [
    [["--tries", "11"], '--tries got "11"; it takes a whole number from 1 to 10'],
    [["--tries", "0x2"], '--tries got "0x2"; it takes a whole number from 1 to 10'],
    [["--tries"], "--tries got no value; it takes a whole number from 1 to 10"],
    [["--config="], '--config got ""; it takes a value (FILE)'],
    [["--config", "--verbose"], "(write --config=--verbose if you mean it)"],
    [["--log-level", "loud"], '--log-level got "loud"; it takes one of info, warn'],
    [["--trusted="], '--trusted got ""; it takes addresses and blocks between commas'],
    [["--trusted", " , "], '--trusted got " , "; it takes addresses and blocks between commas'],
    [["--trusted", "10.0.0.1/8"], '--trusted: "10.0.0.1/8" has bits behind its prefix'],
    [["--tries", "1", "--tries", "2"], "--tries is given twice; it accepts one value"],
    [["--confg", "x"], '"--confg" is an unknown flag; did you mean --config?'],
    [["--listenHttp", ":80"], '"--listenHttp" is an unknown flag; did you mean --listen-http?'],
    [["--xyzzy"], '"--xyzzy" is an unknown flag\n'],
    [["-c"], '"-c" is an unknown flag'],
    [["--toString"], '"--toString" is an unknown flag'],
    [["--__proto__=x"], '"--__proto__" is an unknown flag'],
    [["surplus"], '"surplus" is an unexpected argument'],
    [["--", "--config"], '"--config" is an unexpected argument'],
  ];
  for (const [args, text] of table) {
    await t.step(args.join(" "), () => {
      const got = mistake(args);
      assert.ok(got.includes(text), `${got}\nlacks\n${text}`);
    });
  }
});

Deno.test("all errors are reported at once", () => {
  assert.equal(mistake(["--tries=0", "--log-level=x", "--heed-timeout=1s"]).split("\n").length, 4);
});

Deno.test("control characters of the command line never reach the terminal", () => {
  const text = mistake(["--config=", "--tries=\x1b[31m\x07\x9b\n", "--\x1b]0;"]);
  assert.doesNotMatch(text.replaceAll("\n", ""), /\p{Cc}/u);
  assert.equal(text.split("\n").length, 4);
});

Deno.test("a missing required flag is an error", () => {
  const specs = defineOptions({
    config: { type: "string", value: "FILE", required: true, help: "What to do." },
  });
  assert.match(mistake([], specs), /^--config is needed; it takes a value \(FILE\)/);
  const parsed = parseOptions(PROGRAM, specs, ["--config", "x"]);
  assert.ok(parsed.kind === "ok" && parsed.options.config === "x");
});

Deno.test("a value's own check says what it should be", () => {
  const specs = defineOptions({
    domain: {
      type: "string",
      value: "DOMAIN",
      check: (value) => value.includes(" ") ? "a DNS name" : null,
      help: "Which.",
    },
  });
  assert.match(mistake(["--domain", "a b"], specs), /^--domain: "a b" is not a DNS name/);
});

Deno.test("positional arguments are accepted if the program has them", () => {
  const program = { ...PROGRAM, positionals: { name: "DIR", help: "Where.", min: 0, max: 1 } };
  const parsed = parseOptions(program, SPECS, ["dir", "--verbose"]);
  assert.ok(parsed.kind === "ok");
  assert.deepEqual(parsed.positionals, ["dir"]);
  const more = parseOptions(program, SPECS, ["dir", "other"]);
  assert.ok(more.kind === "error" && more.text.includes("DIR and no more"));
  const fewer = parseOptions(
    { ...program, positionals: { ...program.positionals, min: 1 } },
    SPECS,
    [],
  );
  assert.ok(fewer.kind === "error" && fewer.text.includes("needs DIR"));
});

Deno.test("help overrides errors and shows every flag with its default and reason", () => {
  for (const flag of ["--help", "-h"]) {
    const parsed = parseOptions(PROGRAM, SPECS, ["--nonsense", flag]);
    assert.ok(parsed.kind === "help");
    assert.equal(parsed.text, formatHelp(PROGRAM, SPECS));
  }
  const help = formatHelp(PROGRAM, SPECS);
  assert.ok(
    help.includes("  --head-timeout DURATION\n      How long.\n      Default: 10s: enough."),
  );
  assert.ok(
    help.includes("--listen-http ADDRESS (repeatable)\n      Where.\n      Default: 0.0.0.0:8080."),
  );
  assert.ok(help.includes("--log-level info|warn"));
});

Deno.test("durations and sizes are shown in the format of the command line", () => {
  assert.deepEqual([0, 500, 1500, 10_000, 90_000, 3_600_000].map(formatDuration), [
    "0",
    "500ms",
    "1s500ms",
    "10s",
    "1m30s",
    "1h",
  ]);
  assert.deepEqual([0, 1000, 1024, 32768, 1048576, 3 * 2 ** 30].map(formatSize), [
    "0",
    "1000",
    "1KiB",
    "32KiB",
    "1MiB",
    "3GiB",
  ]);
});

Deno.test("a duration that may be infinite accepts never, others do not", () => {
  const specs = defineOptions({
    keep: { type: "duration", never: true, default: 1000, help: "Keeps." },
    wait: { type: "duration", default: 1000, help: "Waits." },
  });
  const program = { name: "x", summary: "Does." };
  const parsed = parseOptions(program, specs, ["--keep=never"]);
  assert.equal(parsed.kind === "ok" && parsed.options.keep, Infinity);
  const refused = parseOptions(program, specs, ["--wait=never"]);
  assert.ok(refused.kind === "error" && refused.text.includes("--wait got"));
});

Deno.test("a ratio is a number from 0 to 1", () => {
  const specs = defineOptions({ share: { type: "ratio", default: 1, help: "Shares." } });
  const parse = (text: string) => parseOptions(PROGRAM, specs, [`--share=${text}`]);
  for (const text of ["0", "1", "0.05", "1.0", "0.000000001"]) {
    const parsed = parse(text);
    assert.ok(parsed.kind === "ok");
    assert.equal(parsed.options.share, Number(text));
  }
  for (const text of ["", "2", "1.1", "-0.5", ".5", "5%", "0,5", "1e-3", "NaN", "0.0000000001"]) {
    const parsed = parse(text);
    assert.ok(parsed.kind === "error", text);
    assert.match(parsed.text, /takes a number from 0 to 1 like 0.05/);
  }
});
