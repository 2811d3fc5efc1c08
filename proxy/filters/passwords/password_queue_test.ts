import assert from "node:assert/strict";
import type { PasswordCheck } from "./messages.ts";
import { PasswordQueue, type Verifier } from "./password_queue.ts";
import { NO_CHECK, type VerifierReply, type VerifierRequest } from "./verifier_messages.ts";

/** The password is the hash. */
class PlainVerifier implements Verifier {
  onmessage: ((event: MessageEvent<VerifierReply>) => void) | null = null;
  onerror: ((event: ErrorEvent) => void) | null = null;
  readonly verified: string[] = [];

  postMessage({ id, hash, password }: VerifierRequest): void {
    if (id === NO_CHECK) return;
    this.verified.push(`${hash} ${password}`);
    const data = { id, isRight: hash === password };
    queueMicrotask(() => this.onmessage?.(new MessageEvent("message", { data })));
  }

  terminate(): void {}
}

function check(hash: string, password: string): PasswordCheck {
  return { hash, password, client: "10.0.0.1" };
}

Deno.test("a password that was right for a hash is not verified again, and wrong ones are", async () => {
  const verifier = new PlainVerifier();
  const queue = new PasswordQueue(() => verifier);
  for (const round of [1, 2]) {
    assert.equal(await queue.verify(check("a", "a")), "right", `${round}`);
    assert.equal(await queue.verify(check("a", "b")), "wrong", `${round}`);
  }
  assert.deepEqual(verifier.verified, ["a a", "a b", "a b"]);
});

Deno.test("a right password says nothing about another hash, however both are joined", async () => {
  const verifier = new PlainVerifier();
  const queue = new PasswordQueue(() => verifier);
  await queue.verify(check("aa", "aa"));
  for (const [hash, password] of [["a", "aaa"], ["aaa", "a"], ["b", "aa"], ["aa", "b"]]) {
    assert.equal(await queue.verify(check(hash, password)), "wrong");
  }
  assert.equal(verifier.verified.length, 5);
});

Deno.test("of many right passwords the last ones used are remembered", async () => {
  const verifier = new PlainVerifier();
  const queue = new PasswordQueue(() => verifier, 2);
  for (const text of ["a", "b", "a", "c", "a", "b"]) await queue.verify(check(text, text));
  assert.deepEqual(verifier.verified, ["a a", "b b", "c c", "b b"]);
});

Deno.test("requests that a browser sends at once with its first login share one check", async () => {
  const verifier = new PlainVerifier();
  const queue = new PasswordQueue(() => verifier);
  const all = Array.from({ length: 12 }, () => queue.verify(check("a", "a")));
  const others = [
    queue.verify(check("a", "b")),
    queue.verify({ ...check("a", "a"), client: "10.0.0.2" }),
  ];
  assert.deepEqual(new Set(await Promise.all(all)), new Set(["right"]));
  assert.deepEqual(await Promise.all(others), ["wrong", "right"]);
  assert.deepEqual(verifier.verified, ["a a", "a b", "a a"]);
});

Deno.test("a shared check that fails rejects all of its requests, and the next one starts another", async () => {
  const verifier = new PlainVerifier();
  let starts = 0;
  const queue = new PasswordQueue(() => {
    if (++starts === 1) throw new Error("no thread");
    return verifier;
  });
  const all = [queue.verify(check("a", "a")), queue.verify(check("a", "a"))];
  for (const one of await Promise.allSettled(all)) assert.equal(one.status, "rejected");
  assert.equal(await queue.verify(check("a", "a")), "right");
});

Deno.test("the thread is started once, by what prepares it or by the first check", async () => {
  let starts = 0;
  const queue = new PasswordQueue(() => {
    starts++;
    return new PlainVerifier();
  });
  assert.equal(starts, 0);
  for (let i = 0; i < 2; i++) queue.prepare();
  assert.equal(await queue.verify(check("a", "a")), "right");
  assert.equal(starts, 1);
});

Deno.test("clients that fill the queue make room for a login of another one, until all have as many", async () => {
  const verifier = new PlainVerifier();
  const delayed: VerifierRequest[] = [];
  const queue = new PasswordQueue(() =>
    Object.assign(verifier, {
      postMessage: (request: VerifierRequest) => {
        if (request.id !== NO_CHECK) delayed.push(request);
      },
    })
  );
  const busy: string[] = [];
  const verify = (client: string, password: string) =>
    queue.verify({ hash: "a", password, client }).then((verdict) => {
      if (verdict === "busy") busy.push(`${client} ${password}`);
      return verdict;
    });
  const guesses = Array.from({ length: 64 }, (_, i) => verify(`192.0.2.${i % 16}`, `${i}`));
  const logins = Array.from({ length: 48 }, (_, i) => verify(`10.0.0.${i}`, "a"));
  assert.equal(await verify("10.0.1.1", "a"), "busy", "all have one");
  await new Promise((resume) => setTimeout(resume));
  assert.equal(busy.length, 49);
  // Of each client the newest went first; the check under way and the others are verified.
  assert.ok(busy.includes("192.0.2.0 48") && !busy.includes("192.0.2.0 0"));
  while (delayed.length > 0) {
    const { id, hash, password } = delayed.shift()!;
    verifier.onmessage!(new MessageEvent("message", { data: { id, isRight: hash === password } }));
  }
  assert.deepEqual(new Set(await Promise.all(logins)), new Set(["right"]));
  const verdicts = await Promise.all(guesses);
  assert.deepEqual(verdicts.map((verdict) => verdict === "wrong"), guesses.map((_, i) => i < 16));
});

Deno.test("addresses of one IPv6 /64 count as one client, and others are verified beside it", async () => {
  const silent: Verifier = { onmessage: null, onerror: null, postMessage() {}, terminate() {} };
  const queue = new PasswordQueue(() => silent);
  let busy = 0;
  const verify = (client: string, password: string) =>
    queue.verify({ hash: "a", password, client }).then((verdict) => {
      if (verdict === "busy") busy++;
    }, () => {});
  for (let i = 1; i <= 70; i++) verify(`2001:db8::${i.toString(16)}`, String(i));
  verify("192.0.2.1", "a");
  await new Promise((resume) => setTimeout(resume));
  assert.equal(busy, 66);
  queue.close();
});
