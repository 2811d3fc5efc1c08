/**
 * Sockets without an event loop between: the kernel's own calls, by FFI. In: ports of 127.0.0.1.
 * Out: connections that are read, written and waited for by calls which allocate next to nothing, so
 * that no garbage collection falls into a measurement, and a clock and timers that know microseconds.
 * For Linux with glibc 2.35 or newer, as `/proc` is for the rest of the benchmark.
 */
const LIBC = Deno.dlopen("libc.so.6", {
  clock_gettime: { parameters: ["i32", "buffer"], result: "i32" },
  prctl: { parameters: ["i32", "u64", "u64", "u64", "u64"], result: "i32" },
  socket: { parameters: ["i32", "i32", "i32"], result: "i32" },
  connect: { parameters: ["i32", "buffer", "u32"], result: "i32" },
  setsockopt: { parameters: ["i32", "i32", "i32", "buffer", "u32"], result: "i32" },
  // Variadic in C; for integers the convention is the same on the processors that Deno runs on.
  fcntl: { parameters: ["i32", "i32", "i32"], result: "i32" },
  // Fewer bytes than 2 ** 31: the lower half of what they return has it all, with its sign.
  recv: { parameters: ["i32", "buffer", "usize", "i32"], result: "i32" },
  send: { parameters: ["i32", "buffer", "usize", "i32"], result: "i32" },
  close: { parameters: ["i32"], result: "i32" },
  epoll_create1: { parameters: ["i32"], result: "i32" },
  epoll_ctl: { parameters: ["i32", "i32", "i32", "buffer"], result: "i32" },
  epoll_pwait2: { parameters: ["i32", "buffer", "i32", "buffer", "pointer"], result: "i32" },
}).symbols;

const AF_INET = 2;
const SOCK_STREAM = 1;
const IPPROTO_TCP = 6;
const TCP_NODELAY = 1;
const SOL_SOCKET = 1;
const SO_RCVTIMEO = 20;
const F_SETFL = 4;
const O_NONBLOCK = 0o4000;
const MSG_NOSIGNAL = 0x4000;
const CLOCK_MONOTONIC = 1;
const PR_SET_TIMERSLACK = 29;
const EPOLLIN = 1;
const EPOLL_CTL_ADD = 1;
const EPOLL_CTL_DEL = 2;

/** `struct timespec`: seconds and nanoseconds, each of 64 bits, little-endian. */
const instant = new Uint32Array(4);

/** µs of a clock that only goes forward. */
export function micros(): number {
  LIBC.clock_gettime(CLOCK_MONOTONIC, instant);
  return instant[0] * 1e6 + instant[2] / 1e3;
}

/** Lets timers of this thread end when they should: the kernel's own slack is 50 µs. */
export function sharpenTimers(): void {
  LIBC.prctl(PR_SET_TIMERSLACK, 1n, 0n, 0n, 0n);
}

/** A connection to a port of 127.0.0.1, without Nagle's delay; throws where it is refused. */
export function connectTo(port: number): number {
  const fd = LIBC.socket(AF_INET, SOCK_STREAM, 0);
  const address = new Uint8Array(16);
  const view = new DataView(address.buffer);
  view.setUint16(0, AF_INET, true);
  view.setUint16(2, port);
  address.set([127, 0, 0, 1], 4);
  if (fd < 0 || LIBC.connect(fd, address, address.length) !== 0) {
    if (fd >= 0) closeSocket(fd);
    throw new Error(`127.0.0.1:${port} takes no connection`);
  }
  LIBC.setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, Int32Array.of(1), 4);
  return fd;
}

/** From then on reads that wait end after so many seconds at the latest, as if there were nothing. */
export function limitReads(fd: number, seconds: number): void {
  LIBC.setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, Uint32Array.of(seconds, 0, 0, 0), 16);
}

/** From then on reads return at once. */
export function unblock(fd: number): void {
  LIBC.fcntl(fd, F_SETFL, O_NONBLOCK);
}

/** The number of bytes; 0 at the end of the stream, negative where there is nothing. */
export function receive(fd: number, into: Uint8Array<ArrayBuffer>): number {
  return LIBC.recv(fd, into, BigInt(into.length), 0);
}

/** The number of bytes that the kernel took, negative where it took none. */
export function transmit(fd: number, bytes: Uint8Array<ArrayBuffer>): number {
  return LIBC.send(fd, bytes, BigInt(bytes.length), MSG_NOSIGNAL);
}

export function closeSocket(fd: number): void {
  LIBC.close(fd);
}

/** Most connections that one `wait` tells of. */
const BATCH = 64;

/** `struct epoll_event` in words: it is packed on x86-64 alone. */
const PACKED = Deno.build.arch === "x86_64";
const EVENT_WORDS = PACKED ? 3 : 4;
const KEY_WORD = PACKED ? 1 : 2;

/** Waits for many connections. */
export class Poll {
  readonly #fd = LIBC.epoll_create1(0);
  readonly #events = new Uint32Array(BATCH * EVENT_WORDS);
  readonly #timeout = new Uint32Array(4);

  /** @param key what `keyAt` tells when there is something to read. A close ends it. */
  add(fd: number, key: number): void {
    const event = new Uint32Array(EVENT_WORDS);
    event[0] = EPOLLIN;
    event[KEY_WORD] = key;
    if (LIBC.epoll_ctl(this.#fd, EPOLL_CTL_ADD, fd, event) !== 0) throw new Error("epoll_ctl");
  }

  /** Ends what `add` began; throws where `fd` is not waited for. */
  remove(fd: number): void {
    const unused = new Uint32Array(EVENT_WORDS);
    if (LIBC.epoll_ctl(this.#fd, EPOLL_CTL_DEL, fd, unused) !== 0) throw new Error("epoll_ctl");
  }

  /** How many can be read, 0 after `timeout` µs. */
  wait(timeout: number): number {
    const whole = Math.floor(timeout / 1e6);
    this.#timeout[0] = whole;
    this.#timeout[2] = (timeout - whole * 1e6) * 1e3;
    return Math.max(0, LIBC.epoll_pwait2(this.#fd, this.#events, BATCH, this.#timeout, null));
  }

  keyAt(index: number): number {
    return this.#events[index * EVENT_WORDS + KEY_WORD];
  }
}
