import { byteCount } from "./bulk.mjs";
import { withDeadline } from "./waiting.mjs";

/** An initialized session, which knows when each of its processes is over. */
export class Session {
  wire;
  #processes = new Map();
  #nextProcess = 1;

  static async open(wire) {
    const session = new Session();
    session.wire = wire;
    wire.onNotification = (method, params) => session.#event(method, params);
    await withDeadline(wire.request("initialize", { clientName: "bench" }), "initialize");
    wire.notify("initialized");
    return session;
  }

  #event(method, params) {
    const process = this.#processes.get(params.processId);
    if (!process) return;
    if (method === "process/exited") process.exitCode = params.exitCode;
    else if (method === "process/closed") process.closed = true;
    else return;
    // On the peer, `closed` can overtake `exited`: a process is over when both have arrived.
    if (process.closed && process.exitCode !== undefined) {
      this.#processes.delete(params.processId);
      process.resolve(process.exitCode);
    }
  }

  /** `started` resolves with the process id, `over` with the exit code once the output has ended too. */
  start(argv, { tty = false, pipeStdin = false, sandbox = null, keep } = {}) {
    const processId = `p${this.#nextProcess++}`;
    const over = new Promise((resolve) => this.#processes.set(processId, { resolve }));
    const started = this.wire
      .request("process/start", {
        processId,
        argv,
        cwd: "file:///",
        env: { PATH: process.env.PATH },
        tty,
        pipeStdin,
        sandbox,
        keep,
      })
      .then(() => processId);
    // Not every caller waits for it; a failure must not end the bench then.
    started.catch(() => {});
    return { processId, started, over };
  }

  async run(argv, options) {
    const { started, over } = this.start(argv, options);
    const exitCode = await withDeadline(
      started.then(() => over),
      `start and end of ${argv[0]}`,
    );
    if (exitCode !== 0) throw new Error(`${argv.join(" ")} ended with ${exitCode}`);
  }

  async terminate({ processId, over }) {
    await withDeadline(this.wire.request("process/terminate", { processId }), "process/terminate");
    await withDeadline(over, "end of a terminated process");
  }

  /** Counts bytes of output from now on; the returned function returns the count. */
  countOutput() {
    let received = 0;
    this.wire.onBulk = (_method, message) => {
      received += byteCount(message);
    };
    return () => received;
  }

  close() {
    this.wire.close();
  }
}

/** Runs `work(session)` in its own session. Over stdio a server has only one, which stays. */
export async function inSession(server, work) {
  const session = await server.openSession();
  try {
    return await work(session);
  } finally {
    server.releaseSession(session);
  }
}
