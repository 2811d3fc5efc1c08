/** What commands say of an API server, or of what answers in its place, that gives them no objects. */
import assert from "node:assert/strict";
import http from "node:http";
import https from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { CertificateAuthority } from "../../dev/certificate_authority.ts";
import { kubeconfigText } from "../cluster/support/kubeconfig.ts";
import { spawn, withFolder } from "../support/dev_process.ts";

type Answer = (request: http.IncomingMessage, response: http.ServerResponse) => void;

const authority = await CertificateAuthority.create("Pingress tests");

interface Output {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs a command of pingress against a server that answers so. */
async function withServer(
  { answer, isPlain = false, token = "the-token" }: {
    readonly answer: Answer;
    readonly isPlain?: boolean;
    readonly token?: string;
  },
  use: (run: (...args: readonly string[]) => Promise<Output>) => Promise<void>,
): Promise<void> {
  const { chain: cert, key } = await authority.issue({ names: ["127.0.0.1"] });
  const server = isPlain
    ? http.createServer(answer)
    : https.createServer({ cert, key: key.reveal() }, answer);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const config = kubeconfigText({
    server: `https://127.0.0.1:${port}`,
    caPem: authority.certificate,
    credentials: { token },
  });
  await withFolder({ config }, async (folder) => {
    await use(async (...args) => {
      const { code, stdout, stderr } = await spawn("pingress", [
        ...args,
        `--kubeconfig=${join(folder, "config")}`,
      ]).output();
      const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
      return { code, out: decode(stdout), err: decode(stderr) };
    });
  }).finally(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
}

function replies(status: number, type: string, body: string): Answer {
  return (_request, response) => {
    response.writeHead(status, { "content-type": type });
    response.end(body);
  };
}

const status = (code: number, reason: string, message: string) =>
  replies(code, "application/json", JSON.stringify({ kind: "Status", code, reason, message }));

const CASES: readonly {
  readonly name: string;
  readonly answer: Answer;
  readonly isPlain?: boolean;
  readonly says: RegExp;
}[] = [
  {
    name: "that has too many requests",
    answer: status(429, "TooManyRequests", "too many requests, try again later"),
    says: /too many requests, try again later/,
  },
  {
    name: "behind a load balancer without a target",
    answer: replies(503, "text/html", "<html>503</html>"),
    says: /the API server answered 503/,
  },
  {
    name: "whose etcd changes its leader",
    answer: status(500, "InternalError", "etcdserver: leader changed"),
    says: /etcdserver: leader changed/,
  },
  {
    name: "in whose place a login page answers",
    answer: replies(200, "text/html", "<html>Log in</html>"),
    says: /the answer is not JSON/,
  },
  {
    name: "in whose place another program answers with JSON",
    answer: replies(200, "application/json", '{"items":{}}'),
    says: /the answer is not (?:a list|an object of Kubernetes)/,
  },
  {
    name: "that resets connections",
    answer: (request) => void request.socket.destroy(),
    says: /the connection broke|ECONNRESET|reset|socket hang up/,
  },
  {
    name: "that speaks plain HTTP",
    answer: replies(200, "application/json", "{}"),
    isPlain: true,
    says: /TLS|SSL|protocol|handshake|corrupt/i,
  },
];

for (const { name, says, ...server } of CASES) {
  Deno.test(`of a server ${name}, commands say what it did`, async () => {
    await withServer(server, async (run) => {
      for (
        const [args, code] of [
          [["check", "--timeout=3s"], 1],
          [["status", "--timeout=3s"], 2],
        ] as const
      ) {
        const output = await run(...args);
        const text = output.out + output.err;
        assert.equal(output.code, code, text);
        assert.match(text, says, args[0]);
        assert.doesNotMatch(text, /did not answer within/, args[0]);
        assert.doesNotMatch(text, /Uncaught|^ +at /m, args[0]);
      }
    });
  });
}

Deno.test("explain and diff say once why nothing of a cluster can be read", async () => {
  await withServer(
    { answer: status(500, "InternalError", "etcdserver: no leader") },
    async (run) => {
      for (
        const args of [
          ["explain", "--cluster", "http://a.test/"],
          ["diff", "-f", "examples", "--against=cluster"],
        ]
      ) {
        const { code, err } = await run(...args);
        assert.equal(code, 2, args[0]);
        assert.equal(err.match(/etcdserver: no leader/g)?.length, 1, err);
        assert.match(err, /; look at the log of the API server/);
      }
    },
  );
});

Deno.test("status --watch ends where a server does not answer in time", async () => {
  await withServer({ answer: () => {} }, async (run) => {
    const { code, out, err } = await run("status", "--watch", "--timeout=1s");
    assert.equal(code, 2, err);
    assert.equal(out, "");
    assert.match(
      err,
      /cannot list ingresses\S* in namespace \S+: the API server did not answer within 1 s/,
    );
  });
});

for (
  const [what, token, codes, says] of [
    ["no header can have", "secret-begin€secret-end", [1, 2], /credentials cannot be sent: /],
    [
      "has a line break",
      "secret-begin\nsecret-end",
      [2, 2],
      /the token of its user has a line break .*; write it on one line/,
    ],
  ] as const
) {
  Deno.test(`a token that ${what} is named, and not shown`, async () => {
    await withServer({ answer: status(500, "InternalError", "unused"), token }, async (run) => {
      for (const [i, command] of ["check", "status"].entries()) {
        const output = await run(command);
        const text = output.out + output.err;
        assert.equal(output.code, codes[i], text);
        assert.match(text, says);
        assert.doesNotMatch(text, /Uncaught|^ +at |secret-/m);
      }
    });
  });
}
