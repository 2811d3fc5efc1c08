/**
 * Random pairs of Ingress and request, with external authentication by nginx as ingress-nginx configures it
 * and by us. In: a seed. Out: the same status, headers, subrequest and request to the backend, or the pair
 * that differs.
 *
 * Left out is what the table of annotations says we do otherwise, and headers that nginx passes on to
 * auth-url although they say how a body comes.
 */
import assert from "node:assert/strict";
import { Random } from "../fuzz/random.ts";
import { annotatedSnapshot } from "../support/annotated_ingresses.ts";
import { Backend, Peer, statusOf } from "../support/backend.ts";
import { TestProxy } from "../support/test_proxy.ts";
import { findNginx, MISSING, Nginx } from "./nginx.ts";
import { AUTH_HOST, type AuthIngress, authServers } from "./nginx_auth.ts";

/** PEERS_SEED=N takes another one. */
const SEED = Number(Deno.env.get("PEERS_SEED") ?? 20_261_125);
const INGRESSES = 60;
const REQUESTS = 5;

const STATUSES = [
  "200",
  "200",
  "200",
  "202",
  "204",
  "401",
  "401",
  "403",
  "302",
  "400",
  "404",
  "500",
];
const URLS = ["", "?a=b", "?u=$request_uri", "?h=$http_x_part", "?m=$request_method"];

interface Outcome {
  readonly status: number;
  readonly fields: Readonly<Record<string, string[]>>;
  /** Of the subrequest and of the request, if they came: line and headers. */
  readonly asked: Received | null;
  readonly received: Received | null;
}

interface Received {
  readonly line: string;
  readonly fields: Readonly<Record<string, string[]>>;
}

/** Headers of responses that are compared. */
const OF_RESPONSE = ["location", "set-cookie", "www-authenticate"];
const OF_SUBREQUEST = [
  ...["host", "x-original-url", "x-original-method", "x-original-uri", "x-scheme", "x-sent-from"],
  ...["x-auth-request-redirect", "x-real-ip", "x-forwarded-for", "x-forwarded-proto"],
  ...["cookie", "authorization", "content-length", "x-part"],
];
const OF_REQUEST = ["host", "x-user", "x-groups", "cookie", "authorization", "content-length"];

function randomIngress(random: Random, index: number): AuthIngress {
  const annotations: Record<string, string> = {
    "auth-url": `http://${AUTH_HOST}/auth/${random.pick(STATUSES)}${random.pick(URLS)}`,
  };
  const sometimes = (name: string, rarity: number, value: () => string) => {
    if (random.oneIn(rarity)) annotations[name] = value();
  };
  sometimes("auth-method", 3, () => random.pick(["GET", "POST", "HEAD", "PUT"]));
  sometimes("auth-signin", 3, () => {
    return random.pick([
      "https://login.test/?rd=$scheme://$http_host$request_uri",
      "https://$host/in?x=y&rd=/",
    ]);
  });
  sometimes("auth-request-redirect", 3, () => "https://$http_host/x?u=$request_uri");
  sometimes(
    "auth-response-headers",
    2,
    () => random.pick(["X-User", "X-Groups, X-User", "Authorization"]),
  );
  sometimes("auth-always-set-cookie", 3, () => random.pick(["true", "false"]));
  sometimes("allowlist-source-range", 4, () => random.pick(["127.0.0.0/8", "10.0.0.0/8"]));
  return { host: `h${index}.test`, annotations, paths: [[random.pick(["/", "/a"]), "Prefix"]] };
}

function randomRequest(random: Random, { host }: AuthIngress): string {
  const method = random.pick(["GET", "GET", "DELETE", "POST"]);
  const target = random.pick(["/", "/a", "/a/b", "/none"]) + random.pick(["", "?x=y", "?a=%20b"]);
  const lines = [
    `Host: ${random.pick([host, host, `${host}:8080`])}`,
    ...(random.oneIn(2) ? ["Cookie: s=1; t=2"] : []),
    ...(random.oneIn(2) ? ["Authorization: Bearer abc"] : []),
    ...(random.oneIn(2) ? ["X-User: spoofed"] : []),
    ...(random.oneIn(2) ? ["X-Part: part"] : []),
    ...(method === "POST" ? ["Content-Length: 5"] : []),
    "Connection: close",
  ];
  return `${method} ${target} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n${
    method === "POST" ? "hello" : ""
  }`;
}

function fieldsOf(head: string, names: readonly string[]): Record<string, string[]> {
  const lines = head.split("\r\n").slice(1).map((line) => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const;
  });
  return Object.fromEntries(
    names.map((name) => [name, lines.filter(([own]) => own === name).map(([, value]) => value)]),
  );
}

function receivedOf(head: string | undefined, names: readonly string[]): Received | null {
  return head === undefined ? null : { line: head.split("\r\n")[0], fields: fieldsOf(head, names) };
}

async function outcome(port: number, request: string, heads: string[]): Promise<Outcome> {
  heads.length = 0;
  using client = await Peer.connect(port);
  const answer = await client.ask(request);
  const isSubrequest = (head: string) => /^\S+ \/auth\//.test(head);
  return {
    status: statusOf(answer),
    fields: fieldsOf(answer.head, OF_RESPONSE),
    asked: receivedOf(heads.find(isSubrequest), OF_SUBREQUEST),
    received: receivedOf(heads.find((head) => !isSubrequest(head)), OF_REQUEST),
  };
}

Deno.test("requests with auth-url are authenticated as with ingress-nginx", async () => {
  const program = await findNginx();
  if (program === null) {
    console.warn(MISSING);
    return;
  }
  const random = new Random(SEED);
  const ingresses = Array.from({ length: INGRESSES }, (_, i) => randomIngress(random.fork(), i));
  const heads: string[] = [];
  await using backend = new Backend(async (peer) => {
    for (let asked = await peer.request(); asked !== null; asked = await peer.request()) {
      heads.push(asked.head);
      const [, status = "200"] = /^\S+ \/auth\/(\d+)/.exec(asked.head) ?? [];
      const length = status === "204" ? "" : "Content-Length: 0\r\n";
      await peer.send(
        `HTTP/1.1 ${status} Some\r\n${length}X-User: alice\r\nAuthorization: Bearer of-auth\r\n` +
          `${asked.head.includes(" /auth/") ? "Set-Cookie: auth=1\r\n" : ""}` +
          `${status === "401" ? 'WWW-Authenticate: Basic realm="a"\r\n' : ""}\r\n`,
      );
    }
  });
  const nginx = await Nginx.startWith(
    program,
    (port) => authServers(ingresses, port, backend.port),
  );
  try {
    using proxy = new TestProxy([]);
    const byName = Object.fromEntries(ingresses.map((ingress, i) => [`i${i}`, ingress]));
    proxy.server.apply(annotatedSnapshot(byName, [backend.port], "nginx"));
    const statuses = new Set<number>();
    for (const ingress of ingresses) {
      for (let i = 0; i < REQUESTS; i++) {
        const request = randomRequest(random, ingress);
        const theirs = await outcome(nginx.port, request, heads);
        const ours = await outcome(proxy.port, request, heads);
        assert.deepEqual(ours, theirs, `${JSON.stringify(ingress)} ${JSON.stringify(request)}`);
        statuses.add(theirs.status);
      }
    }
    assert.deepEqual([...statuses].sort(), [200, 302, 401, 403, 404, 500]);
  } finally {
    await nginx.stop();
  }
});
