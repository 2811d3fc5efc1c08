/**
 * `grpc-timeout`, the time that a gRPC client gives its call. In: a request's fields. Out: ms.
 */
import { type Fields, GRPC_TIMEOUT } from "../http/fields.ts";

/** What one of each unit is in ms (gRPC's doc/PROTOCOL-HTTP2.md, TimeoutUnit). */
const UNITS: Readonly<Record<string, number>> = {
  H: 3_600_000,
  M: 60_000,
  S: 1_000,
  m: 1,
  u: 1e-3,
  n: 1e-6,
};

/**
 * The time in ms; Infinity where none is given, NaN where it is malformed or given twice. No time at
 * all (`0m`) is well-formed: clients send it for a deadline that has passed already.
 */
export function readGrpcTimeout(fields: Fields): number {
  const index = fields.find(GRPC_TIMEOUT);
  if (index === -1) return Infinity;
  if (fields.find(GRPC_TIMEOUT, index + 1) !== -1) return NaN;
  return parseGrpcTimeout(fields.value(index));
}

/** One to eight digits and a unit. */
export function parseGrpcTimeout(value: string): number {
  if (!/^[0-9]{1,8}[HMSmun]$/.test(value)) return NaN;
  return Number(value.slice(0, -1)) * UNITS[value.slice(-1)];
}
