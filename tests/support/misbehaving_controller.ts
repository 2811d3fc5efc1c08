/**
 * The controller's end of the stream, on loopback, for tests: it says what a test tells it to, and
 * nothing of its own. In: lines, cuts and silence to order, certificates, answers. Out: what proxies
 * have said, and files with its authority and a token.
 */
import type http from "node:http";
import https from "node:https";
import { CertificateAuthority } from "../../dev/certificate_authority.ts";
import type { Snapshot } from "../../shared/snapshot/types.ts";
import { deltaLine, sameLine, wholeLine } from "../../shared/stream/change.ts";
import { Content } from "../../shared/stream/content.ts";
import { type Read, readReport, type Report } from "../../shared/stream/messages.ts";

/** How long anything is waited for, in ms. */
const PATIENCE = 60_000;

/** One stream, from the controller's end. */
export class ServedStream {
  readonly reports: Report[] = [];
  /** Lines that are none of a proxy's. */
  readonly unread: string[] = [];
  hasEnded = false;
  readonly headers: http.IncomingHttpHeaders;
  readonly #response: http.ServerResponse;
  #more = Promise.withResolvers<void>();

  constructor(request: http.IncomingMessage, response: http.ServerResponse) {
    this.headers = request.headers;
    this.#response = response;
    let rest = "";
    request.on("data", (chunk: Uint8Array) => {
      const lines = (rest + new TextDecoder().decode(chunk)).split("\n");
      rest = lines.pop()!;
      for (const line of lines) this.#take(readReport(line), line);
    });
    const end = () => {
      this.hasEnded = true;
      this.#wake();
    };
    request.on("error", end);
    request.on("close", end);
    response.on("error", end);
    response.on("close", end);
  }

  /** The first report of this kind, from the `from`th on; what comes before it is skipped. */
  async report<K extends Report["kind"]>(kind: K, from = 0): Promise<Extract<Report, { kind: K }>> {
    let found: Report | undefined;
    await this.#until(() => {
      found = this.reports.find((report, i) => i >= from && report.kind === kind);
      return found !== undefined;
    }, `a report "${kind}" among ${JSON.stringify(this.reports.map(({ kind }) => kind))}`);
    return found as Extract<Report, { kind: K }>;
  }

  /** Waits until `count` reports of this kind have come. */
  async reportsOf(kind: Report["kind"], count: number): Promise<void> {
    await this.#until(
      () => this.reports.filter((report) => report.kind === kind).length >= count,
      `${count} reports "${kind}"`,
    );
  }

  ended(): Promise<void> {
    return this.#until(() => this.hasEnded, "the end of the stream");
  }

  hello(zone: string | null = null): void {
    this.say({ kind: "hello", controller: "test", build: "0", heartbeat: 100, zone });
  }

  say(message: object): void {
    this.write(`${JSON.stringify(message)}\n`);
  }

  write(text: string): void {
    this.#response.write(text);
  }

  whole(snapshot: Snapshot): Content {
    const content = Content.of(snapshot);
    this.write(wholeLine(content));
    return content;
  }

  same(snapshot: Snapshot): Content {
    const content = Content.of(snapshot);
    this.write(sameLine(content));
    return content;
  }

  delta(from: Content, snapshot: Snapshot): Content {
    const content = Content.of(snapshot, from);
    this.write(deltaLine(from, content));
    return content;
  }

  end(): void {
    this.#response.end();
  }

  /** Without an end of anything. */
  cut(): void {
    this.#response.socket?.destroy();
  }

  #take(read: Read<Report>, line: string): void {
    if (read.ok) this.reports.push(read.message);
    else this.unread.push(line);
    this.#wake();
  }

  #wake(): void {
    this.#more.resolve();
    this.#more = Promise.withResolvers();
  }

  async #until(condition: () => boolean, what: string): Promise<void> {
    const end = performance.now() + PATIENCE;
    while (!condition()) {
      const left = end - performance.now();
      if (left < 0) throw new Error(`waited in vain for ${what}`);
      let timer: ReturnType<typeof setTimeout> | undefined;
      const late = new Promise<void>((resolve) => timer = setTimeout(resolve, left));
      await Promise.race([this.#more.promise, late]);
      clearTimeout(timer);
    }
  }
}

/** Null serves a stream; a number is the status of a refusal; "silence" answers nothing. */
export type Answer = (request: http.IncomingMessage) => null | number | "silence";

export class MisbehavingController {
  readonly folder: string;
  readonly streams: ServedStream[] = [];
  /** What is done with each request. */
  answer: Answer = () => null;
  /** Milliseconds after which a stream is served. */
  delay = 0;
  /** Requests so far. */
  requests = 0;
  readonly authority: CertificateAuthority;
  #server: https.Server;
  #port = 0;
  #next = Promise.withResolvers<void>();

  private constructor(authority: CertificateAuthority, server: https.Server, folder: string) {
    this.authority = authority;
    this.#server = server;
    this.folder = folder;
  }

  /** With a certificate for `localhost`. */
  static async start(): Promise<MisbehavingController> {
    const authority = await CertificateAuthority.create("Controller's authority");
    const { chain, key } = await authority.issue({ names: ["localhost"] });
    const server = https.createServer({ cert: chain, key: key.reveal() });
    const folder = await Deno.makeTempDir();
    const controller = new MisbehavingController(authority, server, folder);
    server.on("request", (request, response) => controller.#serve(request, response));
    server.on("tlsClientError", () => {});
    controller.writeCa(authority.certificate);
    controller.writeToken("token-1");
    await controller.listen();
    return controller;
  }

  get port(): number {
    return this.#port;
  }

  get url(): string {
    return `https://localhost:${this.port}`;
  }

  /** The flags that lead a proxy here. */
  get flags(): string[] {
    return [
      `--controller=${this.url}`,
      `--controller-ca=${this.caFile}`,
      `--controller-token=${this.tokenFile}`,
    ];
  }

  get caFile(): string {
    return `${this.folder}/ca.crt`;
  }

  get tokenFile(): string {
    return `${this.folder}/token`;
  }

  writeCa(pem: string): void {
    Deno.writeTextFileSync(this.caFile, pem);
  }

  writeToken(token: string): void {
    Deno.writeTextFileSync(this.tokenFile, token);
  }

  /** Listens, on the same port as before. */
  async listen(): Promise<void> {
    await new Promise<void>((resolve) =>
      this.#server.listen(this.#port, "127.0.0.1", () => resolve())
    );
    this.#port = (this.#server.address() as { port: number }).port;
  }

  /** Is gone: nothing listens, and what was open is cut. */
  async leave(): Promise<void> {
    for (const stream of this.streams) stream.cut();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** Shows another certificate from now on. */
  async show(names: readonly string[], validTo?: number, authority = this.authority) {
    const issued = await authority.issue({ names, ...(validTo === undefined ? {} : { validTo }) });
    this.#server.setSecureContext({ cert: issued.chain, key: issued.key.reveal() });
  }

  /** The stream with this number, from 0, once the proxy has said hello on it. */
  async stream(index: number): Promise<ServedStream> {
    const end = performance.now() + PATIENCE;
    while (this.streams.length <= index) {
      const left = end - performance.now();
      if (left < 0) throw new Error(`waited in vain for stream ${index}`);
      let timer: ReturnType<typeof setTimeout> | undefined;
      const late = new Promise<void>((resolve) => timer = setTimeout(resolve, left));
      await Promise.race([this.#next.promise, late]);
      clearTimeout(timer);
    }
    await this.streams[index].report("hello");
    return this.streams[index];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.leave();
    await Deno.remove(this.folder, { recursive: true });
  }

  #serve(request: http.IncomingMessage, response: http.ServerResponse): void {
    this.requests++;
    request.on("error", () => {});
    response.on("error", () => {});
    const answer = this.answer(request);
    if (answer === "silence") return;
    if (answer !== null) {
      response.writeHead(answer, { "content-type": "text/plain" });
      response.end("because the test says so\n");
      return;
    }
    if (this.delay === 0) return this.#begin(request, response);
    // What has gone by then has heard nothing.
    setTimeout(() => request.destroyed || this.#begin(request, response), this.delay);
  }

  #begin(request: http.IncomingMessage, response: http.ServerResponse): void {
    response.writeHead(200, { "content-type": "application/x-ndjson" });
    response.flushHeaders();
    this.streams.push(new ServedStream(request, response));
    this.#next.resolve();
    this.#next = Promise.withResolvers();
  }
}
