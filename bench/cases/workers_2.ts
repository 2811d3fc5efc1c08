/**
 * What a second event loop costs, and what it brings where there are cores to spare for it.
 *
 * Both are saturated as far as load and backend allow. At a rate that one carries with ease, two
 * sleep and wake twice as often, with one request at a turn: that costs nginx, HAProxy and us a
 * quarter more alike, and says more of the kernel than of a second loop.
 */
import { H1_SMALL } from "./h1_small.ts";
import type { Case } from "../model.ts";

/** The kernel deals connections out by chance; with many, both workers get about half. */
const CONNECTIONS = 64;

/**
 * Of each event loop, in seconds. Workers share the requests, and each compiles for itself: two need
 * twice as many until all is compiled. With less, compiled code is compared with code that is not.
 */
const WARM_UP = 4;

export const WORKERS_2: Case = {
  ...H1_SMALL,
  name: "workers-2",
  about: "h1-small with two workers on one port",
  connections: CONNECTIONS,
  workers: 2,
  warmUp: 2 * WARM_UP,
  baseline: {
    ...H1_SMALL,
    name: "workers-1",
    about: "h1-small with as many connections on one worker",
    connections: CONNECTIONS,
    warmUp: WARM_UP,
  },
};
