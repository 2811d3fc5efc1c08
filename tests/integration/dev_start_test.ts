/** Command lines of `deno task dev` and `deno task explain`, good and bad. */
import assert from "node:assert/strict";
import { EXAMPLES, FREE_PORTS, manifest, spawn, withFolder } from "../support/dev_process.ts";

Deno.test("a start that cannot succeed prints the reason and the remedy in one line", async () => {
  const taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = taken.addr;
  try {
    for (
      const [args, code, pattern] of [
        [
          [EXAMPLES, `--listen-http=127.0.0.1:${port}`],
          2,
          /\(--listen-http\): another program has the port/,
        ],
        [
          [EXAMPLES, FREE_PORTS[0], `--listen-https=127.0.0.1:${port}`],
          2,
          /\(--listen-https\): another program has the port/,
        ],
        [
          [EXAMPLES, FREE_PORTS[0], FREE_PORTS[1], `--admin=127.0.0.1:${port}`],
          2,
          /\(--admin\): another program has the port/,
        ],
        [["no/such/folder"], 2, /^There is no file or folder no\/such\/folder; name one/],
        [[EXAMPLES, "--listen-http=0.0.0.0:0"], 2, /deno run -P=dev --allow-net dev\/main\.ts/],
        [[EXAMPLES, "--listen-https=[::]:0"], 2, /deno run -P=dev --allow-net dev\/main\.ts/],
        [
          [EXAMPLES, "--map=default/web=10.9.8.7:80"],
          2,
          /^Cannot dial 10\.9\.8\.7:80 .*deno run -P=dev --allow-net dev\/main\.ts/,
        ],
        [[EXAMPLES, "--allow-external-name"], 2, /^Cannot dial .*--allow-net/],
      ] as const
    ) {
      const { code: got, stderr } = await spawn("dev", args).output();
      const text = new TextDecoder().decode(stderr);
      assert.equal(got, code, text);
      assert.match(text, pattern);
      assert.equal(text.trim().split("\n").length, 1, text);
    }
  } finally {
    taken.close();
  }
});

Deno.test("an invalid command line exits with 2, --help with 0", async () => {
  const wrong = await spawn("dev", ["--no-such-flag"]).output();
  assert.equal(wrong.code, 2);
  const help = await spawn("dev", ["--help"]).output();
  assert.equal(help.code, 0);
  assert.match(new TextDecoder().decode(help.stdout), /--listen-http[^]*127\.0\.0\.1:8080/);
});

Deno.test("explain exits with 0 for a route, 1 for none, 2 for an invalid command line", async () => {
  await withFolder({ "a.yaml": manifest("a.example.com") }, async (folder) => {
    for (
      const [args, code, pattern] of [
        [
          [EXAMPLES, "https://app.example.com/api/x"],
          0,
          /\nRoute: app\.example\.com Prefix \/api\n/,
        ],
        [[EXAMPLES, "http://anything/at/all"], 0, /\nRoute: \* Prefix \/\n/],
        [[folder, "http://b.example.com/"], 1, /\nRoute: none matches this path/],
        [[folder, "http://a.example.com/%zz"], 1, /400/],
        [[folder, "http://"], 2, /is no URL/],
        [[folder], 2, /is no URL/],
        [[], 2, /needs \[DIR…\] URL…/],
        [
          ["no/such/folder", "http://a/"],
          2,
          /^There is no file or folder no\/such\/folder; name one/m,
        ],
      ] as const
    ) {
      const { code: got, stdout, stderr } = await spawn("explain", args).output();
      const text = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
      assert.equal(got, code, text);
      assert.match(text, pattern);
    }
  });
});
