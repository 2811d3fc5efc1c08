/** What one measurement asks for. In: nothing. Out: the type, and all cases in order. */
import { H1_DOWN } from "./cases/h1_1mib_down.ts";
import { H1_UP } from "./cases/h1_1mib_up.ts";
import { H1_SMALL } from "./cases/h1_small.ts";

export interface Case {
  readonly name: string;
  /** For people, what it is. */
  readonly about: string;
  /** One of the paths that `backend.ts` serves. */
  readonly path: "/small" | "/1mib" | "/upload";
  /** Connections that are kept and used again, one request at a time each. */
  readonly connections: number;
  /** Body of each request; 0 asks with GET. */
  readonly uploadBytes: number;
}

export const CASES: readonly Case[] = [H1_SMALL, H1_DOWN, H1_UP];
