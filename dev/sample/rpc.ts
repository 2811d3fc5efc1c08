/**
 * The methods of gRPC that a sample backend knows besides echoing: health, so that probes work, and
 * reflection, so that tools find out what there is. In: messages. Out: the messages that answer them.
 *
 * https://github.com/grpc/grpc/blob/master/doc/health-checking.md and server-reflection.md
 */
import { field, fieldsOf, type Message, text } from "./protobuf.ts";

export interface RpcMethod {
  readonly answer: (message: Uint8Array) => Uint8Array;
  /** The answer has no end but the client's. */
  readonly goesOn: boolean;
}

/** gRPC's code for what is not there. */
const NOT_FOUND = 5;

const SERVING = field(1, 1);

/** Kinds of fields in descriptors. */
const TYPE = { string: 9, enum: 14 } as const;

const FILES: readonly DescribedFile[] = [
  describeFile("grpc/health/v1/health.proto", "grpc.health.v1", "Health", [
    message("HealthCheckRequest", [field(1, "service"), field(3, 1), kindOf(TYPE.string)]),
    message(
      "HealthCheckResponse",
      [
        field(1, "status"),
        field(3, 1),
        kindOf(TYPE.enum),
        field(6, ".grpc.health.v1.HealthCheckResponse.ServingStatus"),
      ],
      field(4, [
        field(1, "ServingStatus"),
        ...["UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"]
          .map((name, number) => field(2, [field(1, name), field(2, number)])),
      ]),
    ),
  ], [
    method("Check", "HealthCheckRequest", "HealthCheckResponse"),
    method("Watch", "HealthCheckRequest", "HealthCheckResponse", field(6, 1)),
  ]),
  describeFile("sample.proto", "sample", "Echo", [
    message("Text", [field(1, "text"), field(3, 1), kindOf(TYPE.string)]),
  ], [
    method("Say", "Text", "Text"),
    method("Chat", "Text", "Text", field(5, 1), field(6, 1)),
  ]),
];

/** By path. */
export const RPC_METHODS: ReadonlyMap<string, RpcMethod> = new Map([
  ["/grpc.health.v1.Health/Check", { answer: () => SERVING, goesOn: false }],
  ["/grpc.health.v1.Health/Watch", { answer: () => SERVING, goesOn: true }],
  ["/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", { answer: reflect, goesOn: false }],
  [
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
    { answer: reflect, goesOn: false },
  ],
]);

/** A message as it is sent: not compressed, with its length. */
export function frameMessage(message: Uint8Array): Uint8Array {
  const frame = new Uint8Array(5 + message.length);
  new DataView(frame.buffer).setUint32(1, message.length);
  frame.set(message, 5);
  return frame;
}

/** Cuts what comes into messages. */
export class MessageReader {
  #kept = new Uint8Array(0);

  /** Those that are whole now; null for one that is compressed. */
  *read(bytes: Uint8Array): Generator<Uint8Array | null> {
    const all = new Uint8Array(this.#kept.length + bytes.length);
    all.set(this.#kept);
    all.set(bytes, this.#kept.length);
    let at = 0;
    while (all.length - at >= 5) {
      const end = at + 5 + new DataView(all.buffer).getUint32(at + 1);
      if (end > all.length) break;
      yield all[at] === 0 ? all.subarray(at + 5, end) : null;
      at = end;
    }
    this.#kept = all.slice(at);
  }
}

/** One request of reflection, and its answer. */
function reflect(request: Uint8Array): Uint8Array {
  let answer: Message = error("this kind of question is not known");
  for (const { number, value } of fieldsOf(request)) {
    if (typeof value === "number") continue;
    const asked = text(value);
    if (number === 3) answer = describe(asked, FILES.find(({ name }) => name === asked));
    if (number === 4) {
      answer = describe(asked, FILES.find((file) => asked.startsWith(`${file.pack}.`)));
    }
    if (number === 7) {
      answer = field(6, FILES.map((file) => field(1, [field(1, `${file.pack}.${file.service}`)])));
    }
  }
  return new Uint8Array([...field(2, request), ...answer]);
}

function describe(asked: string, file: DescribedFile | undefined): Message {
  return file === undefined
    ? error(`${asked} is not there`)
    : field(4, [field(1, file.descriptor)]);
}

function error(message: string): Message {
  return field(7, [field(1, NOT_FOUND), field(2, message)]);
}

interface DescribedFile {
  readonly name: string;
  /** The package. */
  readonly pack: string;
  readonly service: string;
  /** A FileDescriptorProto. */
  readonly descriptor: Message;
}

function describeFile(
  name: string,
  pack: string,
  service: string,
  messages: readonly Message[],
  methods: readonly ((pack: string) => Message)[],
): DescribedFile {
  const descriptor = new Uint8Array([
    ...field(1, name),
    ...field(2, pack),
    ...messages.flatMap((message) => [...field(4, message)]),
    ...field(6, [field(1, service), ...methods.map((method) => field(2, method(pack)))]),
    ...field(12, "proto3"),
  ]);
  return { name, pack, service, descriptor };
}

/** A type with one field, whose parts are given. */
function message(name: string, parts: readonly Message[], ...more: readonly Message[]): Message {
  // 1: it is optional, as each is in proto3.
  const described = field(2, [...parts, field(4, 1)]);
  return new Uint8Array([...field(1, name), ...described, ...more.flatMap((one) => [...one])]);
}

function kindOf(type: number): Message {
  return field(5, type);
}

function method(
  name: string,
  input: string,
  output: string,
  ...more: readonly Message[]
): (pack: string) => Message {
  return (pack) =>
    new Uint8Array([
      ...field(1, name),
      ...field(2, `.${pack}.${input}`),
      ...field(3, `.${pack}.${output}`),
      ...more.flatMap((one) => [...one]),
    ]);
}
