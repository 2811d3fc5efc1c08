/**
 * A thread of a proxy that stops, as one in an endless loop does. In: a process. Out: one of its workers,
 * stopped as by a debugger while all other threads run. Linux, and the right to trace it, are needed.
 */
import { skip } from "../peers/go_program.ts";

/** Attaches to a thread, says so, and detaches when its input ends: PTRACE_ATTACH, __WALL, PTRACE_DETACH. */
const TRACER = `
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long] * 4
thread = int(sys.argv[1])
if libc.ptrace(16, thread, 0, 0) != 0:
    sys.exit("ptrace: " + os.strerror(ctypes.get_errno()))
os.waitpid(thread, 0x40000000)
print("stopped", flush=True)
sys.stdin.read()
libc.ptrace(17, thread, 0, 0)
`;

export class StoppedWorker {
  readonly #tracer: Deno.ChildProcess;
  readonly #said: ReadableStreamDefaultReader<Uint8Array>;

  private constructor(
    tracer: Deno.ChildProcess,
    said: ReadableStreamDefaultReader<Uint8Array>,
  ) {
    this.#tracer = tracer;
    this.#said = said;
  }

  /** The last worker of a proxy with several. Null where it cannot be: then `test` is skipped. */
  static async of(test: string, pid: number): Promise<StoppedWorker | null> {
    let tracer: Deno.ChildProcess;
    try {
      tracer = new Deno.Command("python3", {
        args: ["-c", TRACER, String(lastWorker(pid))],
        stdin: "piped",
        stdout: "piped",
        stderr: "inherit",
      }).spawn();
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
      return skip(test, "python3 is not installed (remedy: apt-get install python3)");
    }
    const said = tracer.stdout.getReader();
    const worker = new StoppedWorker(tracer, said);
    if (!(await said.read()).done) return worker;
    await worker[Symbol.asyncDispose]();
    return skip(test, "threads cannot be traced (remedy: run it as root)");
  }

  /** It runs again. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#tracer.stdin.close().catch(() => {});
    await this.#tracer.status;
    await this.#said.cancel();
  }
}

/** Threads of workers are called `worker-N`; the supervisor is the first. */
function lastWorker(pid: number): number {
  const folder = `/proc/${pid}/task`;
  const workers = [...Deno.readDirSync(folder)].map(({ name }) => name).filter((name) =>
    Deno.readTextFileSync(`${folder}/${name}/comm`).startsWith("worker-")
  );
  return Math.max(...workers.map(Number));
}
