/** What calls of gRPC carry. In: nothing. Out: the message of each call and of each answer. */

/** Framed: not compressed, 6 bytes. */
export const GRPC_MESSAGE: Uint8Array<ArrayBuffer> = Uint8Array.of(
  ...[0, 0, 0, 0, 6],
  ...new TextEncoder().encode("hello\n"),
);
