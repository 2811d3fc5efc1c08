/**
 * The thread that compares passwords with hashes. In: checks, by message. Out: for each whether the
 * password is right. It has no permissions.
 */
/// <reference lib="deno.worker" />
import { isPasswordOf } from "./password_hash.ts";
import { NO_CHECK, type VerifierReply, type VerifierRequest } from "./verifier_messages.ts";

self.onmessage = async ({ data: { id, hash, password } }: MessageEvent<VerifierRequest>) => {
  if (id === NO_CHECK) return;
  let isRight = false;
  try {
    isRight = await isPasswordOf(hash, password);
  } catch {
    // A hash that cannot be compared with is nobody's password.
  }
  const reply: VerifierReply = { id, isRight };
  self.postMessage(reply);
};
