/** Fields from a template are those that would be written one by one. */
import assert from "node:assert/strict";
import { type Fields, fieldsOf } from "./fields.ts";
import { ForwardedFields, TRACEPARENT_INDEX } from "./forwarded_fields.ts";

const ID = "0".repeat(32);
const TRACE = `00-${ID}-${ID.slice(16)}-00`;

interface Case {
  readonly address: string;
  readonly localPort: number;
  readonly secure: boolean;
  readonly authority: string;
  readonly traced: boolean;
}

function expected({ address, localPort, secure, authority, traced }: Case, mark: string): Fields {
  return fieldsOf([
    ["X-Request-Id", ID],
    ...(traced ? [["traceparent", TRACE]] as const : []),
    ["X-Forwarded-For", address],
    ["X-Real-IP", address],
    ["X-Forwarded-Proto", secure ? "https" : "http"],
    ["X-Forwarded-Port", String(localPort)],
    ["CDN-Loop", mark],
    ...(authority === "" ? [] : [["X-Forwarded-Host", authority]] as const),
  ]);
}

/** All that is known of each field, and the bytes from first to last. */
function shown(fields: Fields) {
  const each = Array.from({ length: fields.count }, (_, i) => ({
    id: fields.ids[i],
    name: [fields.nameStart(i), fields.nameEnd(i), fields.name(i)],
    value: [fields.valueStart(i), fields.valueEnd(i), fields.value(i)],
  }));
  const end = fields.valueEnd(fields.count - 1) + 2;
  return { each, text: new TextDecoder().decode(fields.bytes.subarray(0, end)) };
}

Deno.test("clients of any address, port and host get the fields that are theirs, before and after a new mark", () => {
  const loopMark = { value: "pingress-1" };
  const forwarded = new ForwardedFields(loopMark);
  for (const mark of ["pingress-1", "pingress-longer"]) {
    loopMark.value = mark;
    for (const address of ["10.0.0.1", "2001:db8::1", "192.168.100.200"]) {
      for (const localPort of [80, 8443, 65535]) {
        for (const secure of [false, true]) {
          for (const authority of ["a.test", "", "a-longer.example.test:8443"]) {
            for (const traced of [false, true]) {
              const made = { address, localPort, secure, authority, traced };
              const fields = forwarded.of(made, authority, traced);
              assert.deepEqual(shown(fields), shown(expected(made, mark)), JSON.stringify(made));
            }
          }
        }
      }
    }
  }
});

Deno.test("clients of more ports than are remembered get the fields that are theirs", () => {
  const forwarded = new ForwardedFields({ value: "pingress-1" });
  for (let round = 0; round < 2; round++) {
    for (let localPort = 1; localPort < 600; localPort++) {
      const made = { address: "10.0.0.1", localPort, secure: false, authority: "", traced: false };
      const fields = forwarded.of(made, "", false);
      assert.deepEqual(shown(fields), shown(expected(made, "pingress-1")));
    }
  }
});

Deno.test("the host can be replaced by a longer one, and fields of other connections stay", () => {
  const forwarded = new ForwardedFields({ value: "pingress-1" });
  const client = { address: "10.0.0.1", localPort: 80, secure: false };
  const [one, other] = [0, 1].map(() => forwarded.of(client, "a.test", true));
  const before = shown(other);
  assert.equal(one.replaceLast("a-longer.example.test"), true);
  one.bytes[one.valueStart(TRACEPARENT_INDEX)] = 0x31;
  assert.deepEqual(shown(other), before);
  assert.deepEqual(shown(forwarded.of(client, "a.test", true)), before);
});

Deno.test("a host that would break out of its line is no value", () => {
  const forwarded = new ForwardedFields({ value: "pingress-1" });
  const client = { address: "10.0.0.1", localPort: 80, secure: false };
  for (const host of ["a\r\nX-B: c", "a\0", " a", "a ", "\u010a"]) {
    assert.throws(() => forwarded.of(client, host, false), TypeError, JSON.stringify(host));
  }
});
