/** `deno task dev` as a process of its own. In: arguments. Out: the ports that it prints. */
import { join } from "node:path";

const ROOT = join(import.meta.dirname!, "..", "..");

export class DevTask {
  readonly #child: Deno.ChildProcess;
  readonly http: number;
  readonly https: number;
  readonly admin: number;

  private constructor(child: Deno.ChildProcess, ports: readonly number[]) {
    this.#child = child;
    [this.http, this.https, this.admin] = ports;
  }

  static async start(...args: readonly string[]): Promise<DevTask> {
    const child = new Deno.Command(Deno.execPath(), {
      args: [
        ...["task", "-q", "dev", ...args],
        ...["--listen-http=127.0.0.1:0", "--listen-https=127.0.0.1:0", "--admin=127.0.0.1:0"],
      ],
      cwd: ROOT,
      stdin: "null",
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    return new DevTask(child, await printedPorts(child.stdout));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGTERM");
    await this.#child.status;
  }
}

async function printedPorts(stream: ReadableStream<Uint8Array>): Promise<number[]> {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) throw new Error(`it ended after:\n${text}`);
    text += value;
    const line =
      / at http:\/\/127\.0\.0\.1:(\d+) and https:\/\/127\.0\.0\.1:(\d+), .*:(\d+)\/readyz/;
    const match = line.exec(text);
    if (match === null) continue;
    // A closed pipe would end the program.
    discard(reader);
    return match.slice(1).map(Number);
  }
}

async function discard(reader: ReadableStreamDefaultReader<string>): Promise<void> {
  while (!(await reader.read()).done);
}
