/**
 * What a measurement is made of. In: nothing. Out: types: the case, the peer that serves it, the load
 * that asks, and what goes on beside.
 */
import type { Address } from "../shared/net/address.ts";
import type { Child } from "./child.ts";
import type { Found } from "./found.ts";
import type { TlsFiles } from "./tls.ts";

export interface Case {
  readonly name: string;
  /** For people, what it is. */
  readonly about: string;
  /**
   * What is counted and has its price. It decides on the load too, unless `load` does: wrk or
   * h2load make requests, `websocket_load` makes messages (a message there and its echo back are
   * two), `event_load` holds streams open and counts what comes on them.
   */
  readonly unit: Unit;
  /** One of the paths that `backend.ts` serves. */
  readonly path: Path;
  /** The version of HTTP that clients speak. */
  readonly http: 1 | 2;
  /** What the backend speaks: HTTP/1.1, or gRPC by HTTP/2 without TLS. */
  readonly upstream: "http" | "grpc";
  /** Connections at the same time. */
  readonly connections: number;
  /** On each of them, requests, handshakes or echoes under way at the same time. */
  readonly streams: number;
  /** Body of each request; 0 asks with GET. */
  readonly uploadBytes: number;
  /** Whether clients come with TLS; backends never do. */
  readonly tls: boolean;
  /** Event loops, processes or threads, in the proxy's own words. */
  readonly workers: number;
  /** Hosts and paths in the proxy's configuration; requests go to all of them in turn. One without. */
  readonly routes?: number;
  /** Hosts and paths that requests go to in turn, where they are not those of `routes`. */
  readonly requests?: number;
  /** Endpoints behind the one Service, each an address of 127.0.0.0/8 at the backend's port; or one. */
  readonly endpoints?: number;
  /** Whether a line is written for each request, to the program's standard output or a file. */
  readonly accessLog?: boolean;
  /** The share of requests whose spans go to a collector: the backend's server. None without it. */
  readonly traceRatio?: number;
  /** What makes the load, where the unit and the version of HTTP do not decide. */
  readonly load?: Load;
  /**
   * The load offers requests at a constant rate, by `load`: this share of what the slowest of the
   * measured peers carried just before, in rounds of the load that the unit decides on. All peers
   * get the same rate.
   */
  readonly pace?: number;
  /** What goes on beside the load, from before each measurement until after it. */
  readonly beside?: Beside;
  /**
   * The load opens so many at first, which are held while nothing counts yet, and all of `connections`
   * and `streams` later: memory is told for each one more.
   */
  readonly held?: Held;
  /** In seconds, before anything counts; without it five, or one where a round is no longer. */
  readonly warmUp?: number;
  /** Rounds at most, whatever is asked for: where a round takes long and figures vary little. */
  readonly mostRounds?: number;
  /**
   * The same thing without what the case is about: measured for each peer in the same alternation,
   * and what `× baseline` compares with.
   */
  readonly baseline?: Case;
  /** Names of the peers that it says something about. Without it, all that can do it. */
  readonly peers?: readonly string[];
}

export type Unit = "request" | "handshake" | "message" | "event" | "connection";

export interface Held {
  readonly connections: number;
  readonly streams: number;
}

export type Path =
  | "/small"
  | "/1mib"
  | "/chunked"
  | "/upload"
  | "/echo"
  | "/grpc"
  | "/events"
  | "/burst";

export interface LoadResult {
  /** Answered requests, handshakes, messages or events, as the case counts. */
  readonly count: number;
  readonly perSecond: number;
  /** Latency in ms. */
  readonly p50: number;
  readonly p99: number;
  /** Null where the load's program does not tell. */
  readonly p999: number | null;
  /** These three are told by loads of many connections only. */
  readonly p90?: number;
  readonly max?: number;
  /** Answers on the connection with the fewest over those on that with the most: 1 is even. */
  readonly fairness?: number;
  /** What failed or was refused: a fast refusal must not pass for speed. */
  readonly errors: number;
  /** What is to be known about these figures: that the load itself was late. */
  readonly note?: string;
}

/** For a load that opens much before what counts begins, and holds it: tells when it counts. */
export interface Meter {
  begin(): void;
  /**
   * All is open and answered, and nothing is asked from here on: what has been used so far is the
   * cost of opening. Resolves when memory has settled; what is used from then on is that of rest.
   */
  rest(): Promise<void>;
  /** Everything is still open then. */
  end(): void;
}

export interface Load {
  /** Its program's version, or what to do where it is missing; may build it, in a minute or two. */
  find(): Promise<Found>;
  /**
   * Runs for `seconds`; throws with what the program said when it cannot tell what happened.
   *
   * @param rate requests a second in all, for a load that offers a constant rate; 0 for others.
   */
  run(
    target: Target,
    what: Case,
    seconds: number,
    folder: string,
    meter: Meter,
    rate: number,
  ): Promise<LoadResult>;
}

/** A proxy that is being measured. */
export interface Running {
  readonly peer: Peer;
  readonly child: Child;
  /** What it was started with; its folder holds its configuration. */
  readonly setup: Setup;
  readonly target: Target;
}

export interface Beside {
  /** Resolves once it goes on as it should: all clients connected. Throws where it cannot. */
  start(running: Running, what: Case): Promise<Ongoing>;
}

export interface Ongoing {
  /** Ends it, after the proxy's time and memory have been looked at; what of it has failed. */
  stop(): Promise<{ readonly errors: number }>;
}

export interface Setup {
  /** Where the proxy must listen. */
  readonly listen: Address;
  /** Where all requests must go, over connections that are kept. */
  readonly backend: Address;
  /** An empty folder for its configuration. */
  readonly folder: string;
  /** Event loops, processes or threads. */
  readonly workers: number;
  /** With what to serve HTTPS on `listen`; null for plain HTTP. */
  readonly tls: TlsFiles | null;
  /** The version of HTTP that clients speak: by ALPN over TLS, by prior knowledge without. */
  readonly http: 1 | 2;
  /** What the backend speaks: HTTP/1.1, or gRPC by HTTP/2 without TLS. */
  readonly upstream: "http" | "grpc";
  /** Hosts and paths in its configuration; with 1, everything goes to the backend. */
  readonly routes: number;
  /** Addresses of 127.0.0.0/8, from 127.0.0.1 on, at the backend's port; requests go to all in turn. */
  readonly endpoints: number;
  /** Whether a line is written for each request, to standard output or a file in `folder`. */
  readonly accessLog: boolean;
  /** The share of requests whose spans go to the collector at `backend`; 0 for no traces. */
  readonly traceRatio: number;
  /** Whether `reload` will be called. */
  readonly reloads: boolean;
}

/**
 * Every peer gets what it needs to be fast and nothing that we do not do: as many workers,
 * connections kept on both sides, the same forwarded fields, an access log where the case has one and
 * else none, bodies streamed (by nginx buffered as it does by default), WebSockets let through, TLS by
 * its own defaults but for what `tls.ts` sets for all.
 */
export interface Peer {
  readonly name: string;
  /** @param build whether it may take minutes to build what is not there. */
  find(build: boolean): Promise<Found>;
  /** Starts it; the caller waits until it listens. */
  start(setup: Setup): Promise<Child>;
  /** Whether it can do what a case asks for; without this, it can do all. */
  can?(what: Case): boolean;
  /**
   * Puts a configuration in force that differs in one route, another one at each turn, while it
   * serves; absent where it cannot. Resolves when it has been told, in force or not.
   */
  reload?(running: Running, turn: number): Promise<void>;
}

/** Where a load goes. */
export interface Target {
  readonly address: Address;
  /** Null where it speaks plain HTTP. */
  readonly tls: TlsFiles | null;
}
