/** The cost of a call of gRPC: HTTP/2 on both sides, a small message there and back, trailers. */
import { H2C_SMALL } from "./h2c_small.ts";
import type { Case } from "../model.ts";

export const GRPC_UNARY: Case = {
  ...H2C_SMALL,
  name: "grpc-unary",
  about: "gRPC: 11 bytes there and back, HTTP/2 on both sides, no TLS",
  path: "/grpc",
  upstream: "grpc",
  uploadBytes: 11,
};
