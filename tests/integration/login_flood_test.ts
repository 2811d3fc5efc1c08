/**
 * Floods of wrong logins. In: more clients than there is room for, and a thread that verifies passwords
 * only when the test says so. Out: a bounded number waits, the rest get 503 with Retry-After, and
 * everybody else is served meanwhile.
 */
import assert from "node:assert/strict";
import { PasswordQueue, type Verifier } from "../../proxy/filters/passwords/password_queue.ts";
import {
  NO_CHECK,
  type VerifierReply,
  type VerifierRequest,
} from "../../proxy/filters/passwords/verifier_messages.ts";
import { credentialsOf } from "../../shared/credentials/credentials.ts";
import { CidrList } from "../../shared/net/cidr.ts";
import type { Snapshot } from "../../shared/snapshot/types.ts";
import { Backend, Peer, reply, until } from "../support/backend.ts";
import { filteredSnapshot, upstreamTo, WEB } from "../support/filtered_routes.ts";
import { TestProxy } from "../support/test_proxy.ts";

const ID = "test/users auth-file";

/** Waits with its verdicts; `bob` has the password `secret`. */
class HeldVerifier implements Verifier {
  onmessage: ((event: MessageEvent<VerifierReply>) => void) | null = null;
  onerror: ((event: ErrorEvent) => void) | null = null;
  /** Not replied to yet. */
  readonly waiting: VerifierRequest[] = [];
  isHeld = false;
  /** How many it was ever sent before it had replied to all others. */
  most = 0;

  postMessage(request: VerifierRequest): void {
    if (request.id === NO_CHECK) return;
    this.waiting.push(request);
    this.most = Math.max(this.most, this.waiting.length);
    if (!this.isHeld) queueMicrotask(() => this.release());
  }

  release(): void {
    const { id, password } = this.waiting.shift()!;
    const data = { id, isRight: password === "secret" };
    this.onmessage?.(new MessageEvent("message", { data }));
  }

  terminate(): void {}
}

function snapshotTo(port: number): Snapshot {
  const filters = [{ kind: "access", basic: { credentials: ID, realm: "" } }] as const;
  return {
    ...filteredSnapshot({ a: { filters }, open: {} }, [upstreamTo(WEB, [port])]),
    credentials: [credentialsOf(ID, "1", "bob:{PLAIN}secret\nann:{PLAIN}other\n")],
  };
}

async function ask(
  { port }: TestProxy,
  path: string,
  { login = "", client = "10.0.0.1" }: { readonly login?: string; readonly client?: string } = {},
): Promise<string> {
  using peer = await Peer.connect(port);
  const authorization = login === "" ? "" : `Authorization: Basic ${btoa(login)}\r\n`;
  const { head } = await peer.ask(
    `GET ${path} HTTP/1.1\r\nHost: a.test\r\nX-Forwarded-For: ${client}\r\n${authorization}\r\n`,
  );
  return head;
}

function ok(): Backend {
  return new Backend(async (peer) => {
    while (await peer.request() !== null) await peer.send(reply("ok"));
  });
}

function trusting(queue: PasswordQueue): TestProxy {
  const trustedProxies = CidrList.parse("127.0.0.0/8");
  assert.ok(typeof trustedProxies !== "string");
  return new TestProxy([], {}, { trustedProxies, verifyPassword: queue.verify });
}

const CLIENTS = 20;
/** Of each client. */
const GUESSES = 5;
const WAITING = 64;
const REFUSED = CLIENTS * GUESSES - WAITING;

Deno.test("64 logins wait, four of a client, the others get 503, and another client and who is known are served", async () => {
  await using backend = ok();
  const verifier = new HeldVerifier();
  const queue = new PasswordQueue(() => verifier);
  using proxy = trusting(queue);
  using other = trusting(queue);
  for (const each of [proxy, other]) each.server.apply(snapshotTo(backend.port));
  const known = { login: "bob:secret" };
  assert.match(await ask(proxy, "/a", known), /^HTTP\/1.1 200 /);

  verifier.isHeld = true;
  const heads: { readonly client: string; readonly head: string }[] = [];
  const guesses = Array.from({ length: CLIENTS * GUESSES }, async (_, i) => {
    const client = `10.1.0.${i % CLIENTS}`;
    heads.push({ client, head: await ask(proxy, "/a", { login: `ann:guess${i}`, client }) });
  });
  await until("those for whom there is no room", () => heads.length >= REFUSED);
  for (const { head } of heads) {
    assert.match(head, /^HTTP\/1.1 503 /);
    assert.match(head, /\r\nRetry-After: \d+\r\n/);
  }
  assert.equal(new Set(heads.map(({ client }) => client)).size, CLIENTS, "each has one too many");
  assert.match(await ask(proxy, "/a", { login: "ann:more", client: "10.1.0.0" }), / 503 /);
  const login = ask(proxy, "/a", { login: "ann:secret", client: "10.2.0.1" });
  await until("a guess that makes way for another client", () => heads.length === REFUSED + 1);
  // The login is known in the process, whichever of its event loops has the connection.
  for (const each of [proxy, other]) {
    assert.match(await ask(each, "/a", known), /^HTTP\/1.1 200 /);
    assert.match(await ask(each, "/a"), /^HTTP\/1.1 401 /);
    assert.match(await ask(each, "/open"), /^HTTP\/1.1 200 /);
  }
  assert.equal(heads.length, REFUSED + 1, "the others wait");

  heads.length = 0;
  verifier.isHeld = false;
  verifier.release();
  await Promise.all(guesses);
  assert.equal(heads.length, WAITING - 1);
  assert.match(await login, /^HTTP\/1.1 200 /);
  for (const { head } of heads) assert.match(head, /^HTTP\/1.1 401 /);
  assert.equal(verifier.most, 1, "one is verified at a time");
  const after = { login: "ann:other", client: "10.1.0.1" };
  assert.match(await ask(proxy, "/a", after), / 401 /);
});
