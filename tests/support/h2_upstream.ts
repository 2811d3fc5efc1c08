/**
 * A proxy in this process before backends that are spoken to in a given protocol. In: their ports, the
 * protocol, limits. Out: its port, and what it has logged.
 */
import type { Limits } from "../../proxy/http/limits.ts";
import type { ProxyServerOptions } from "../../proxy/server.ts";
import type { LogFields, LogLevel } from "../../shared/log.ts";
import type { Endpoint, Snapshot, Upstream, UpstreamTls } from "../../shared/snapshot/types.ts";
import { snapshotOf, TestProxy } from "./test_proxy.ts";

export interface LogLine {
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: LogFields;
}

export interface H2UpstreamOptions {
  /** "h2c" unless said. */
  readonly protocol?: Upstream["protocol"];
  readonly tls?: UpstreamTls;
  readonly limits?: Partial<Limits>;
  readonly server?: Partial<ProxyServerOptions>;
}

export class H2UpstreamProxy {
  readonly proxy: TestProxy;
  readonly lines: LogLine[] = [];
  readonly #options: H2UpstreamOptions;

  /** @param ports of the backends, on loopback. */
  constructor(ports: readonly number[], options: H2UpstreamOptions = {}) {
    this.#options = options;
    const log = (level: LogLevel) => (message: string, fields: LogFields = {}) => {
      this.lines.push({ level, message, fields });
    };
    this.proxy = new TestProxy([], options.limits, {
      log: { debug: log("debug"), info: log("info"), warn: log("warn"), error: log("error") },
      ...options.server,
    });
    this.serve(ports);
  }

  get port(): number {
    return this.proxy.port;
  }

  get server(): TestProxy["server"] {
    return this.proxy.server;
  }

  /** These are its backends from now on. */
  serve(ports: readonly number[]): void {
    this.server.apply(this.#snapshot(ports));
  }

  /** What the log says of requests that failed: the code, and what the backend did. */
  get failures(): string[] {
    return this.lines.filter(({ message }) => message === "Request failed")
      .map(({ fields }) => `${fields.code}: ${fields.detail}`);
  }

  [Symbol.dispose](): void {
    this.proxy[Symbol.dispose]();
  }

  #snapshot(ports: readonly (number | Endpoint)[]): Snapshot {
    const { protocol = "h2c", tls } = this.#options;
    const snapshot = snapshotOf(ports);
    return {
      ...snapshot,
      upstreams: snapshot.upstreams.map((upstream) => ({
        ...upstream,
        protocol,
        ...(tls === undefined ? {} : { tls }),
      })),
    };
  }
}
