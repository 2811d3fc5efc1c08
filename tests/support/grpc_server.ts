/**
 * The server of grpc-js, as an application would have it, whose messages are texts. In: what each
 * method does. Out: its port.
 */
import { Buffer } from "node:buffer";
import {
  type MethodDefinition,
  Server,
  ServerCredentials,
  type UntypedServiceImplementation,
} from "@grpc/grpc-js";

const decoder = new TextDecoder();

function definition(
  path: string,
  requestStream: boolean,
  responseStream: boolean,
): MethodDefinition<string, string> {
  const serialize = (text: string) => Buffer.from(text);
  const deserialize = (bytes: Uint8Array) => decoder.decode(bytes);
  return {
    path,
    requestStream,
    responseStream,
    requestSerialize: serialize,
    requestDeserialize: deserialize,
    responseSerialize: serialize,
    responseDeserialize: deserialize,
  };
}

export interface GrpcServerMethods {
  /** One message to one message. */
  readonly unary: readonly string[];
  /** One message to many. */
  readonly serverStreaming: readonly string[];
}

export class GrpcServer {
  readonly port: number;
  readonly #server: Server;

  private constructor(server: Server, port: number) {
    this.#server = server;
    this.port = port;
  }

  /** Serves `/<service>/<method>` for each method of `implementation`. */
  static async start(
    service: string,
    { unary, serverStreaming }: GrpcServerMethods,
    implementation: UntypedServiceImplementation,
  ): Promise<GrpcServer> {
    const server = new Server();
    server.addService(
      Object.fromEntries([
        ...unary.map((name) => [name, definition(`/${service}/${name}`, false, false)]),
        ...serverStreaming.map((name) => [name, definition(`/${service}/${name}`, false, true)]),
      ]),
      implementation,
    );
    const port = await new Promise<number>((resolve, reject) => {
      server.bindAsync(
        "127.0.0.1:0",
        ServerCredentials.createInsecure(),
        (error, port) => error === null ? resolve(port) : reject(error),
      );
    });
    return new GrpcServer(server, port);
  }

  [Symbol.dispose](): void {
    this.#server.forceShutdown();
  }
}
