/**
 * Pods of a gRPC service are replaced under calls and beside streams. In: a scene. Out: what failed:
 * nothing. One connection carries the calls, so each must be balanced by itself.
 */
import { Http2Client } from "../../support/http2_client.ts";
import { Finding, inWords } from "./finding.ts";
import { type Form, linesOf, noteLoad, type Scene } from "./scene.ts";

const REPLICAS = 4;
const RATE = 100;
const PATH = "/test.Echo/Say";

/** Between two messages of the stream that goes on meanwhile, in ms. */
const PAUSE = 50;

export async function grpcRollout(scene: Scene, form: Form): Promise<Finding> {
  const rollouts = form === "long" ? 5 : 1;
  const finding = new Finding("gRPC rollout");
  await scene.within("grpc", async (namespace) => {
    const host = `${namespace}.test`;
    const application = await scene.application({
      namespace,
      replicas: REPLICAS,
      host,
      appProtocol: "kubernetes.io/h2c",
    });
    const calls = [{ name: "calls", rate: RATE, host, path: PATH }];
    await using load = await scene.load({ streams: [], calls });
    const streaming = new Stream(scene.cluster.nodeAddress, host);
    await load.lasts(2_000);
    const began = performance.now();
    for (let index = 0; index < rollouts; index++) await application.rollOut();
    finding.note("a rollout took", inWords((performance.now() - began) / rollouts));
    await load.lasts(2_000);
    const lost = await streaming.end();
    finding.note("pods replaced", rollouts * REPLICAS);
    noteLoad(finding, await load.stop());
    finding.count("calls failed", load.failures.length, 0, linesOf(load.failures));
    finding.note("streams ended with their pods", streaming.ended);
    finding.count("messages lost before that", lost.length, 0, lost);
  });
  return finding;
}

/** One stream after another, each for as long as its pod is there. */
class Stream {
  /** Streams that ended by themselves, with `grpc-status`. */
  ended = 0;
  readonly #address: string;
  readonly #host: string;
  readonly #lost: string[] = [];
  readonly #running: Promise<void>;
  #over = false;

  constructor(address: string, host: string) {
    this.#address = address;
    this.#host = host;
    this.#running = this.#run();
  }

  async end(): Promise<readonly string[]> {
    this.#over = true;
    await this.#running;
    return this.#lost;
  }

  async #run(): Promise<void> {
    using client = await Http2Client.connect(80, { address: this.#address, host: this.#host });
    while (!this.#over) {
      try {
        const call = client.call(PATH);
        // Less than for as long as a pod lingers after SIGTERM: it lets its streams end.
        for (let count = 0; count < 40 && !this.#over; count++) {
          await call.echo("a message");
          await new Promise((resume) => setTimeout(resume, PAUSE));
        }
        call.end();
        const { trailers } = await call.answer;
        if (trailers["grpc-status"] !== "0") this.#lost.push(JSON.stringify(trailers));
        else this.ended++;
      } catch (error) {
        this.#lost.push(String(error));
        // A connection that has ended fails every further call at once.
        await new Promise((resume) => setTimeout(resume, PAUSE));
      }
    }
  }
}
