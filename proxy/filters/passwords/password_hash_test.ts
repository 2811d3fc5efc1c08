import assert from "node:assert/strict";
import { readHtpasswd } from "../../../shared/credentials/htpasswd.ts";
import { isPasswordOf } from "./password_hash.ts";

const LONG = `p\xc3\xa4ss${"x".repeat(80)}`;

/** Made by libxcrypt's crypt(3), OpenSSL and htpasswd; those of SHA-crypt's specification last. */
const HASHES: readonly [password: string, hash: string][] = [
  ["open sesame", "$2y$10$abcdefghijklmnopqrstuu4SuEsu2LsUrAYUpWQHLMMc4GV5pZTxK"],
  ["", "$2b$04$abcdefghijklmnopqrstuubyCG3zY1GIXMyxfivm.ClDiInHzxjiq"],
  [LONG, "$2b$04$abcdefghijklmnopqrstuuf9Jsz6s4CfUkNClg2p3NQdrv5hiLmr6"],
  ["open sesame", "$2a$04$abcdefghijklmnopqrstuu/LVz6MZlItEy42I2juLihZ66HnQx/cy"],
  ["open sesame", "ab/G8gtZdMwak"],
  ["", "abmF1QH4PEr.E"],
  [LONG, "abDf4kGybXFwU"],
  ["open sesame", "$1$saltsalt$Yo6tRKYGO/jWyb1etwHDS/"],
  ["", "$1$saltsalt$5Jhcit4zN9UlGiA0txPkO0"],
  [LONG, "$1$saltsalt$ECdyG6565G1Aow7Hr0otS1"],
  ["open sesame", "$1$x$oF/tgio3KLGf3mIcWzC260"],
  ["open sesame", "$apr1$saltsalt$HIDXe7D36X22w1CH4M1cQ."],
  [LONG, "$apr1$x$dKz7SpoUXpaJaXB.X5YXT0"],
  ["open sesame", "$5$saltstring$sOFRiuqOzKEQCZAIFmMrCbPuMEMUPOi/BmBpBwWMgW3"],
  ["", "$5$saltstring$FdNfA4gXqvCeO6iZs7G/.wwwoywYZqo0l1pwmfWaBA7"],
  [LONG, "$5$saltstring$PbrvO0gki8CcbxR9Zc1CEHPCqm1nfZ/C9YJSfgPYouC"],
  [
    "open sesame",
    "$5$rounds=10000$saltstringsaltst$p3MfBoyjgolo6.zsKCLjMSb1dllbs/.QN1xyvDXQmB1",
  ],
  [
    "open sesame",
    "$6$saltstring$b4SOQO.YI.BXjgbKQa.97c9EQud0NW8Txr5rCRGsAucjEsL95TW5MDF/7KcC3bcG5NoxZbmB6Lh82fxg8soAZ0",
  ],
  [
    LONG,
    "$6$rounds=1400$anotherlongsalts$CnthoIkm3yCAzis2zIuyGM64oWT6Ec9babNS16ksErLhlyLsO7FhXbZsRa93YssovAM/3uchymUGr8l4PDw3L/",
  ],
  ["open sesame", "{PLAIN}open sesame"],
  ["secret", "{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ="],
  ["secret", "{SSHA}gVK8WC9YyFT1gMsQHTGCgT3sSv5zYWx0"],
  ["Hello world!", "$5$saltstring$5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5"],
  [
    "Hello world!",
    "$6$saltstring$svn8UoSVapNtMuq1ukKS4tPQd8iKwSMHWjl/O817G3uBnIFNjnQJuesI68u4OTLiBFdcbYEdFCoEOfaS35inz1",
  ],
];

Deno.test("a password is right for its hash of each kind, and no other one is", async () => {
  for (const [password, hash] of HASHES) {
    const { hashes, broken } = readHtpasswd(`u:${hash}:comment\n`);
    assert.deepEqual([hashes.get("u"), broken], [hash, []]);
    assert.ok(await isPasswordOf(hash, password), hash);
    for (const wrong of [`x${password}`, password === "" ? "a" : password.slice(1)]) {
      assert.ok(!await isPasswordOf(hash, wrong), `${hash} ${wrong}`);
    }
  }
});

Deno.test("passwords of more than 512 bytes are wrong, whatever the hash", async () => {
  const password = "x".repeat(513);
  assert.ok(!await isPasswordOf(`{PLAIN}${password}`, password));
  assert.ok(await isPasswordOf(`{PLAIN}${password.slice(1)}`, password.slice(1)));
});
