/** Programs that are not ours, as clients of `deno task dev`. */
import assert from "node:assert/strict";
import { EXAMPLES, withDev } from "../support/dev_process.ts";

Deno.test("the printed commands get responses when pasted", async () => {
  await withDev([EXAMPLES], async ({ output }) => {
    const [, first, second] = await output.match(/\nTry it:\n {2}(curl .*)\n {2}(curl .*)\n/);
    for (const line of [first, second]) {
      const { code, stdout, stderr } = await new Deno.Command("sh", { args: ["-c", line] })
        .output();
      if (code === 127) {
        console.log(
          "skipped: printed commands: curl is not installed (remedy: apt-get install curl)",
        );
        return;
      }
      assert.equal(code, 0, new TextDecoder().decode(stderr));
      assert.match(
        new TextDecoder().decode(stdout),
        /^Sample backend (one|two), in place of a pod of default\/(web|greeter)/,
      );
    }
  });
});

/** A client that is not ours, and what it takes to get `/` of app.example.com with it. */
const CLIENTS: readonly { program: string; remedy: string; args: (port: number) => string[] }[] = [
  {
    program: "curl",
    remedy: "apt-get install curl",
    args: (port) => [
      "--silent",
      "--show-error",
      "--noproxy",
      "*",
      "--header",
      "Host: app.example.com",
      `http://127.0.0.1:${port}/api`,
      "--next",
      "--silent",
      "--noproxy",
      "*",
      "--header",
      "Host: app.example.com",
      "--data",
      "posted by curl",
      `http://127.0.0.1:${port}/`,
    ],
  },
  {
    program: "node",
    remedy: "apt-get install nodejs",
    args: (port) => ["--eval", nodeProgram(port)],
  },
];

/** Two requests on one connection of Node's client. */
function nodeProgram(port: number): string {
  return `
const http = require("node:http");
const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
const ask = (path, method, body) => new Promise((resolve, reject) => {
  const headers = { host: "app.example.com" };
  const options = { agent, host: "127.0.0.1", port: ${port}, path, method, headers };
  const request = http.request(options, (response) => {
    let text = "";
    response.on("data", (part) => text += part).on("error", reject);
    response.on("end", () => resolve([text, request.reusedSocket]));
  });
  request.on("error", reject).end(body);
});
(async () => {
  const [first] = await ask("/api", "GET");
  const [second, reused] = await ask("/", "POST", "posted by node");
  console.log(first, second, reused ? "reused" : "not reused");
  agent.destroy();
})();
`;
}

for (const { program, remedy, args } of CLIENTS) {
  Deno.test(`${program} sends GET and POST through the proxy`, async () => {
    await withDev([EXAMPLES], async ({ http }) => {
      let result: Deno.CommandOutput;
      try {
        result = await new Deno.Command(program, { args: args(http) }).output();
      } catch (error) {
        if (!(error instanceof Deno.errors.NotFound)) throw error;
        console.log(`skipped: gets and posts: ${program} is not installed (remedy: ${remedy})`);
        return;
      }
      const text = new TextDecoder().decode(result.stdout);
      assert.equal(result.code, 0, new TextDecoder().decode(result.stderr));
      assert.match(text, /Sample backend (one|two), in place of a pod of default\/api/);
      assert.match(text, new RegExp(`posted by ${program}`));
      if (program === "node") assert.match(text, /(?<!not )reused/);
    });
  });
}
