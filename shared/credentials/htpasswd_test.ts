import assert from "node:assert/strict";
import { readHtpasswd } from "./htpasswd.ts";

const SHA = "{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=";
const BCRYPT = "abcdefghijklmnopqrstuu4SuEsu2LsUrAYUpWQHLMMc4GV5pZTxK";

Deno.test("comments and empty lines are none, and the first line of a user counts", () => {
  const { hashes, broken } = readHtpasswd(
    `# users\n\na:${SHA}\r\nb:{PLAIN}one:two\r\n\r\na:{PLAIN}x\nc:${SHA}`,
  );
  assert.deepEqual([...hashes], [["a", SHA], ["b", "{PLAIN}one"], ["c", SHA]]);
  assert.deepEqual(broken, []);
});

const BROKEN = [
  "alone",
  ":{PLAIN}x",
  `${"u".repeat(256)}:{PLAIN}x`,
  "u:",
  "u:{PLAIN}",
  "u:plain",
  "u:{MD5}abc",
  "u:{SHA}abc",
  "u:{SSHA}5en6G6MezRroT3XKqkdPOmY/BfQ=",
  `u:$2y$15$${BCRYPT}`,
  `u:$2y$03$${BCRYPT}`,
  `u:$2x$10$${BCRYPT}`,
  `u:$2y$10$${BCRYPT.slice(1)}`,
  "u:$y$j9T$abc$abc",
  "u:$1$saltsalt$short",
  "u:$1$saltsaltsalt$Yo6tRKYGO/jWyb1etwHDS/",
  "u:$5$rounds=1000000$salt$sOFRiuqOzKEQCZAIFmMrCbPuMEMUPOi/BmBpBwWMgW3",
  "u:$5$rounds=999$salt$sOFRiuqOzKEQCZAIFmMrCbPuMEMUPOi/BmBpBwWMgW3",
  "u:$6$salt$sOFRiuqOzKEQCZAIFmMrCbPuMEMUPOi/BmBpBwWMgW3",
  `u:{PLAIN}${"x".repeat(1024)}`,
];

Deno.test("a broken line denies its user, and is known by its number alone", () => {
  for (const line of BROKEN) {
    const { hashes, broken } = readHtpasswd(`a:${SHA}\n${line}\nu:${SHA}\n`);
    assert.deepEqual(broken, [2], line);
    const isNamed = /^u:/.test(line);
    assert.equal(hashes.get("u"), isNamed ? null : SHA, line);
    assert.equal(hashes.get("a"), SHA);
  }
});
