import assert from "node:assert/strict";
import { appProtocolMistake, readAppProtocol } from "./app_protocol.ts";

Deno.test("protocol names are case-insensitive", () => {
  for (
    const [written, protocol] of [
      ["HTTPS", "https"],
      ["kubernetes.io/H2C", "h2c"],
      ["gRPC", "h2c"],
      ["HTTP2", "h2c"],
      ["GRPCS", "h2"],
      ["Http", "http"],
    ]
  ) {
    assert.equal(readAppProtocol(written), protocol, written);
    assert.equal(appProtocolMistake(written), null, written);
  }
});

Deno.test("no appProtocol and those of other programs mean HTTP/1.1 and are no problem", () => {
  for (const written of [undefined, null, "", "example.com/own", "linkerd.io/opaque"]) {
    assert.equal(readAppProtocol(written), "http", String(written));
    assert.equal(appProtocolMistake(written), null, String(written));
  }
});

Deno.test("an unsupported protocol name is a problem with a suggestion", () => {
  for (
    const [written, remedy] of [
      ["htpps", /https, kubernetes\.io\/h2c, grpc, grpcs/],
      ["postgresql", /or take it off/],
      ["tls", /^Write https$/],
      ["kubernetes.io/grpc", /^Write kubernetes\.io\/h2c$/],
      ["kubernetes.io/h3", /docs\/http2\.md/],
      ["projectcontour.io/h2c", /^Write kubernetes\.io\/h2c$/],
      ["projectcontour.io/H2", /^Write h2$/],
      [["https"], /https/],
    ] as const
  ) {
    assert.equal(readAppProtocol(written), "http", String(written));
    const problem = appProtocolMistake(written);
    assert.equal(problem?.reason, "AppProtocolUnknown", String(written));
    assert.match(problem.remedy, remedy, String(written));
  }
});
