/**
 * Fields that the proxy adds to requests of clients whose word it does not take. In: a client, the
 * authority that it asks for. Out: fields with room for the id of each request, and for a longer host.
 *
 * All connections to one port get the same fields but for address and authority: what is the same is copied
 * from a template. To write seven fields one byte after the other was 4 % of what a new connection costs.
 */
import { Fields, fieldsOf, writeValue } from "./fields.ts";
import { CR, LF } from "./grammar.ts";
import type { LoopMark } from "./loop_mark.ts";
import type { Client } from "./message.ts";
import { REQUEST_ID_LENGTH } from "./request_id.ts";

/** Index of X-Request-Id. */
export const REQUEST_ID_INDEX = 0;
/** Index of traceparent, where requests are traced. */
export const TRACEPARENT_INDEX = 1;
/** An id that is to be written over. */
const NO_ID: readonly [string, string] = ["X-Request-Id", "0".repeat(REQUEST_ID_LENGTH)];
/** A traceparent that is to be written over. */
export const TRACED: readonly [string, string][] = [
  ["traceparent", `00-${"0".repeat(32)}-${"0".repeat(16)}-00`],
];
export const UNTRACED: readonly [string, string][] = [];
/** Bytes by which the host of one request may be longer than that of the last one. */
const HOST_ROOM = 64;

/** Of templates: Gateways may come and go with any port. */
const MAX_TEMPLATES = 256;

type Origin = Pick<Client, "address" | "localPort" | "secure">;

export class ForwardedFields {
  readonly #loopMark: Pick<LoopMark, "value">;
  /** By port, and what else is the same for all requests of a connection. */
  readonly #templates = new Map<number, Template>();
  /** Of the templates. */
  #mark = "";

  constructor(loopMark: Pick<LoopMark, "value">) {
    this.#loopMark = loopMark;
  }

  /** What CDN-Loop says of this proxy now. */
  get mark(): string {
    return this.#loopMark.value;
  }

  /** @param traced adds a traceparent. */
  of(client: Origin, authority: string, traced: boolean): Fields {
    const { mark } = this;
    if (mark !== this.#mark) {
      this.#templates.clear();
      this.#mark = mark;
    }
    const key = client.localPort * 4 + (client.secure ? 2 : 0) + (traced ? 1 : 0);
    let template = this.#templates.get(key);
    if (template === undefined) {
      if (this.#templates.size === MAX_TEMPLATES) this.#templates.clear();
      template = new Template(client, mark, traced);
      this.#templates.set(key, template);
    }
    return template.fill(client.address, authority);
  }
}

/** Fields without the address, which is the value of two, and without the authority, the last value. */
class Template {
  readonly #fields: Fields;
  /** Index of the first field with the address; the second follows. */
  readonly #addressAt: number;
  /** What stands before the first address, between both, behind them, and before the authority. */
  readonly #parts: readonly [Uint8Array, Uint8Array, Uint8Array, Uint8Array];

  constructor({ localPort, secure }: Origin, mark: string, traced: boolean) {
    const before = [NO_ID, ...(traced ? TRACED : UNTRACED)];
    const fields = fieldsOf([
      ...before,
      ["X-Forwarded-For", ""],
      ["X-Real-IP", ""],
      ["X-Forwarded-Proto", secure ? "https" : "http"],
      ["X-Forwarded-Port", String(localPort)],
      ["CDN-Loop", mark],
      ["X-Forwarded-Host", ""],
    ]);
    const first = before.length;
    const last = fields.count - 1;
    const cuts = [
      fields.valueStart(first),
      fields.valueStart(first + 1),
      fields.nameStart(last),
      fields.valueStart(last),
    ];
    const part = (i: number) => fields.bytes.slice(i === 0 ? 0 : cuts[i - 1], cuts[i]);
    this.#fields = fields;
    this.#addressAt = first;
    this.#parts = [part(0), part(1), part(2), part(3)];
  }

  fill(address: string, authority: string): Fields {
    const template = this.#fields;
    const [first, second, third, host] = this.#parts;
    const hasHost = authority !== "";
    const count = hasHost ? template.count : template.count - 1;
    const length = template.bytes.length + 2 * address.length + authority.length + HOST_ROOM;
    const fields = Fields.sized(count, length);
    const { bytes } = fields;
    bytes.set(first);
    let at = writeValue(bytes, first.length, address);
    bytes.set(second, at);
    at = writeValue(bytes, at + second.length, address);
    bytes.set(third, at);
    if (hasHost) {
      bytes.set(host, at + third.length);
      at = writeValue(bytes, at + third.length + host.length, authority);
      bytes[at] = CR;
      bytes[at + 1] = LF;
    }
    const { ids } = template;
    for (let i = 0, moved = 0; i < count; i++) {
      const isAddress = i === this.#addressAt || i === this.#addressAt + 1;
      const grown = isAddress ? address.length : i === template.count - 1 ? authority.length : 0;
      const nameStart = template.nameStart(i) + moved;
      const nameEnd = template.nameEnd(i) + moved;
      const valueStart = template.valueStart(i) + moved;
      moved += grown;
      fields.push(ids[i], nameStart, nameEnd, valueStart, template.valueEnd(i) + moved);
    }
    return fields;
  }
}
