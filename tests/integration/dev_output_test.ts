/** `deno task dev` whose output nobody reads any more, and ports that others have. */
import assert from "node:assert/strict";
import { join } from "node:path";
import {
  EXAMPLES,
  FREE_PORTS,
  manifest,
  Output,
  PATIENCE,
  PROGRESS,
  spawn,
  withDev,
  withFolder,
} from "../support/dev_process.ts";

Deno.test("the program ends when the reader of its output has gone", async () => {
  await withFolder({ "a.yaml": manifest("a.example.com") }, async (folder) => {
    const process = spawn("dev", [folder, ...FREE_PORTS]);
    const errors = new Output(process.stderr);
    const reader = process.stdout.getReader();
    let text = "";
    while (!text.includes("No problems")) {
      text += new TextDecoder().decode((await reader.read()).value);
    }
    await reader.cancel();
    // A save is one more line that nobody reads, however slow this machine is.
    let saves = 0;
    const saving = setInterval(
      () => void Deno.writeTextFile(join(folder, "a.yaml"), manifest(`h${++saves}.example.com`)),
      500,
    );
    try {
      const timeout = AbortSignal.timeout(PATIENCE);
      timeout.onabort = () => process.kill("SIGKILL");
      const { code, signal } = await process.status;
      timeout.onabort = null;
      // A shell reports a program that a closed pipe has ended so: 128 + SIGPIPE.
      assert.deepEqual([code, signal], [141, null]);
    } finally {
      clearInterval(saving);
    }
    assert.equal(await errors.all(), "");
    const [, port] = / http:\/\/127\.0\.0\.1:(\d+) /.exec(text)!;
    Deno.listen({ hostname: "127.0.0.1", port: Number(port) }).close();
  });
});

Deno.test("explain and lint end quietly when the reader of their output has gone", async () => {
  for (
    const [task, args] of [
      ["explain", [EXAMPLES, "https://app.example.com/api"]],
      ["lint", [EXAMPLES]],
    ] as const
  ) {
    const process = spawn(task, args);
    const errors = new Output(process.stderr);
    await process.stdout.cancel();
    const { code, signal } = await process.status;
    assert.deepEqual([code, signal], [141, null], task);
    assert.match(await errors.all(), PROGRESS);
  }
});

Deno.test("dev ends with exit code 2 where it cannot start", async () => {
  for (
    const [args, message] of [
      [["exmaples"], /^There is no file or folder exmaples/],
      [["-"], /^Standard input \(-\) is not read/],
      [[EXAMPLES, "--port-offset=60000"], /--port-offset/],
      [[EXAMPLES, "--listen-http=:x"], /--listen-http/],
    ] as const
  ) {
    const { code, stderr } = await spawn("dev", args).output();
    assert.equal(code, 2, args.join(" "));
    assert.match(new TextDecoder().decode(stderr), message);
  }
});

Deno.test("a port that is taken is named with its flag, and --port-offset auto avoids it", async () => {
  // The three ports of one offset are free at the same time, as far as this machine goes.
  const taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = taken.addr;
  try {
    const flags = [
      `--listen-http=127.0.0.1:${port}`,
      "--listen-https=127.0.0.1:0",
      "--admin=127.0.0.1:0",
    ];
    const failed = await spawn("dev", [EXAMPLES, ...flags]).output();
    assert.equal(failed.code, 2);
    assert.match(
      new TextDecoder().decode(failed.stderr),
      /^Cannot listen on 127\.0\.0\.1:\d+ \(--listen-http\): another program has the port; stop it, or change --listen-http, or add --port-offset auto\n$/,
    );
    await withDev([EXAMPLES, "--port-offset=auto"], async ({ http, output }) => {
      const [, offset] = await output.match(/--port-offset (\d+)\./);
      assert.equal(http, port + Number(offset));
      assert.ok(Number(offset) > 0);
    }, flags);
  } finally {
    taken.close();
  }
});
