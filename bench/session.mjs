import { Wire } from "./wire.mjs";

const CALL_DEADLINE_MS = 60_000;

/** Fails a measurement that hangs, instead of hanging the run. */
export async function withDeadline(promise, what, deadlineMs = CALL_DEADLINE_MS) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what}: nothing after ${deadlineMs} ms`)), deadlineMs);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** An initialized session on a connection of its own, which knows when each of its processes is over. */
export class Session {
  wire;
  #processes = new Map();
  #nextProcess = 1;

  static async open(url) {
    const session = new Session();
    session.wire = await withDeadline(Wire.connect(url), "connect");
    session.wire.onNotification = (method, params) => session.#event(method, params);
    await withDeadline(session.wire.request("initialize", { clientName: "bench" }), "initialize");
    session.wire.notify("initialized");
    return session;
  }

  #event(method, params) {
    const process = this.#processes.get(params.processId);
    if (!process) return;
    if (method === "process/exited") process.exitCode = params.exitCode;
    else if (method === "process/closed") process.closed = true;
    else return;
    // `closed` can overtake `exited` on the peer: a process is over when both are here.
    if (process.closed && process.exitCode !== undefined) {
      this.#processes.delete(params.processId);
      process.resolve(process.exitCode);
    }
  }

  /** Resolves `started` with the process id, `over` with the exit code once the output has ended too. */
  start(argv, { tty = false } = {}) {
    const processId = `p${this.#nextProcess++}`;
    const over = new Promise((resolve) => this.#processes.set(processId, { resolve }));
    const started = this.wire
      .request("process/start", {
        processId,
        argv,
        cwd: "file:///",
        env: { PATH: process.env.PATH },
        tty,
      })
      .then(() => processId);
    return { started, over };
  }

  async run(argv, options) {
    const { started, over } = this.start(argv, options);
    await withDeadline(started, `start of ${argv[0]}`);
    const exitCode = await withDeadline(over, `end of ${argv[0]}`);
    if (exitCode !== 0) throw new Error(`${argv.join(" ")} ended with ${exitCode}`);
  }

  close() {
    this.wire.close();
  }
}

/** Runs `work(session)` in a session that is closed afterwards, whatever happened. */
export async function inSession(url, work) {
  const session = await Session.open(url);
  try {
    return await work(session);
  } finally {
    session.close();
  }
}
