/**
 * curl's HTTP/2 through the proxy. In: curl, which is nghttp2 with a verifying TLS client. Out: what
 * it is told to ask for, by HTTP/2, whatever the backend speaks.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { isInstalled, run } from "./debian_program.ts";
import { type Front, NAME, startFront } from "./front.ts";
import { findPrograms } from "./go_program.ts";
import { Origin, patternOf, type Received, sumOf, WAYS, withAuthority } from "./origin.ts";

const LARGE = 8 << 20;

/** Asks the proxy with these arguments, of which one is a path; `version` is what curl has spoken. */
class Curl {
  readonly #base: string;
  readonly #options: readonly string[];

  private constructor(base: string, options: readonly string[]) {
    this.#base = base;
    this.#options = options;
  }

  static plain({ port }: Front): Curl {
    return new Curl(`http://127.0.0.1:${port}`, ["--http2-prior-knowledge"]);
  }

  static secure({ securePort }: Front, ca: string): Curl {
    const resolve = `${NAME}:${securePort}:127.0.0.1`;
    return new Curl(`https://${NAME}:${securePort}`, [
      ...["--http2", "--cacert", ca, "--resolve", resolve],
    ]);
  }

  async ask(path: string, args: readonly string[] = [], input?: Uint8Array<ArrayBuffer>) {
    const said = await run("curl", [
      ...["--silent", "--show-error", "--verbose", "--max-time", "40"],
      ...["--write-out", "\n%{http_version} %{http_code} %{size_download}"],
      ...this.#options,
      ...args,
      this.#base + path,
    ], input);
    assert.equal(said.code, 0, said.stderr);
    const end = said.stdout.lastIndexOf("\n");
    const [version, status, size] = said.stdout.slice(end + 1).split(" ");
    assert.equal(version, "2", said.stderr);
    return { ...said, body: said.stdout.slice(0, end), status: Number(status), size: Number(size) };
  }

  async what(args: readonly string[], input?: Uint8Array<ArrayBuffer>): Promise<Received> {
    const { body, status } = await this.ask("/what?a=1", args, input);
    assert.equal(status, 200, body);
    return JSON.parse(body);
  }
}

interface Case {
  readonly what: string;
  readonly secureOnly?: true;
  readonly run: (curl: Curl, folder: string) => Promise<void>;
}

const CASES: readonly Case[] = [
  {
    what: "GET",
    run: async (curl) => {
      const { method, target, fields } = await curl.what(["--header", "X-Mixed: Kept Value"]);
      assert.deepEqual([method, target, fields["x-mixed"]], ["GET", "/what?a=1", ["Kept Value"]]);
    },
  },
  {
    what: "HEAD",
    run: async (curl) => {
      const { body, status, size } = await curl.ask("/bytes?n=12345&length", ["--head"]);
      assert.match(body, /\r\ncontent-length: 12345\r\n/);
      assert.deepEqual([status, size], [200, 0]);
    },
  },
  {
    what: "POST with a body",
    run: async (curl) => {
      const { method, length, sum } = await curl.what(["--data-binary", "@-"], patternOf(100_000));
      assert.deepEqual([method, length, sum], ["POST", 100_000, sumOf(patternOf(100_000))]);
    },
  },
  {
    what: "a large upload that says to expect 100",
    run: async (curl, folder) => {
      const file = join(folder, "large");
      await Deno.writeFile(file, patternOf(LARGE));
      const said = await curl.ask("/what", [
        "--upload-file",
        file,
        "--header",
        "Expect: 100-continue",
      ]);
      const { method, declared, sum }: Received = JSON.parse(said.body);
      assert.deepEqual([method, declared, sum], ["PUT", LARGE, sumOf(patternOf(LARGE))]);
      assert.match(said.stderr, /^< HTTP\/2 100/m);
    },
  },
  {
    what: "an upload of unknown length",
    run: async (curl) => {
      const { declared, sum } = await curl.what(["--upload-file", "-"], patternOf(300_000));
      assert.deepEqual([declared, sum], [-1, sumOf(patternOf(300_000))]);
    },
  },
  {
    what: "a large download",
    run: async (curl, folder) => {
      for (const query of ["", "&length"]) {
        const file = join(folder, "download");
        const { status } = await curl.ask(`/bytes?n=${LARGE}${query}`, ["--output", file]);
        assert.equal(status, 200);
        assert.equal(sumOf(await Deno.readFile(file)), sumOf(patternOf(LARGE)));
      }
    },
  },
  {
    what: "trailers of an answer",
    run: async (curl) => {
      const { body, stderr } = await curl.ask("/trailers", ["--include"]);
      assert.match(body, /with trailers/);
      assert.match(stderr, /^< x-sum: abc/m);
      assert.match(stderr, /^< x-late: unannounced/m);
    },
  },
  {
    what: "103 before the answer",
    run: async (curl) => {
      const { body, stderr } = await curl.ask("/early");
      assert.equal(body, "final\n");
      assert.match(stderr, /^< HTTP\/2 103[^]*^< link: [^]*^< HTTP\/2 200/m);
    },
  },
  {
    what: "200 requests on one connection",
    // With prior knowledge curl 7.88 ends each but the first with an error, whatever the server.
    secureOnly: true,
    run: async (curl) => {
      const { stdout, stderr } = await curl.ask("/bytes?n=[1-200]", ["--output", "/dev/null"]);
      const lines = stdout.split("\n").filter((line) => line !== "");
      assert.deepEqual(lines, Array.from({ length: 200 }, (_, i) => `2 200 ${i + 1}`));
      assert.equal(stderr.match(/^\* Connected to /gm)?.length, 1);
    },
  },
];

Deno.test("curl gets complete responses over HTTP/2, whatever the backend speaks", async (t) => {
  if (!await isInstalled(t.name, "curl", "curl")) return;
  const found = await findPrograms(t.name, ["origin"]);
  if (found === null) return;
  await using origin = await Origin.start(found[0]);
  for (const { port, protocol, arrives } of WAYS) {
    await using front = await startFront({ protocol, ports: [origin.ports[port]] });
    await withAuthority(async (ca, folder) => {
      const ways = { "prior knowledge": Curl.plain(front), TLS: Curl.secure(front, ca) };
      for (const [way, curl] of Object.entries(ways)) {
        await t.step(`${way} to ${arrives} on ${port}`, async (t) => {
          for (const one of CASES) {
            if (way !== "TLS" && one.secureOnly) continue;
            await t.step(one.what, () => one.run(curl, folder));
          }
          const { proto } = await curl.what([]);
          assert.equal(proto, arrives);
        });
      }
    });
  }
});

Deno.test("curl that offers h2c to HTTP/1.1 gets HTTP/1.1", async (t) => {
  if (!await isInstalled(t.name, "curl", "curl")) return;
  const found = await findPrograms(t.name, ["origin"]);
  if (found === null) return;
  await using origin = await Origin.start(found[0]);
  await using front = await startFront({ protocol: "http", ports: [origin.ports.http] });
  const { stdout, stderr } = await run("curl", [
    ...["--silent", "--http2", "--write-out", "\n%{http_version}", "--data", "x=1"],
    `http://127.0.0.1:${front.port}/what`,
  ]);
  const [body, version] = stdout.split("\n\n");
  const { fields }: Received = JSON.parse(body);
  // RFC 9113 §3.1 has taken Upgrade: h2c away, and neither field is for the backend.
  assert.deepEqual([version, fields.upgrade, fields["http2-settings"]], [
    "1.1",
    undefined,
    undefined,
  ], stderr);
});
