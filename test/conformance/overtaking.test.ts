import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Writable } from "node:stream";
import { expect } from "vitest";
import type { Message, RawPeer } from "./raw-peer.ts";
import { base64, fromBase64, start, type VerifyContext, verifies } from "./verifies.ts";

const MIB = 1024 * 1024;

interface Work {
  readonly peer: RawPeer;
  readonly directory: string;
  /** Sends without waiting for an answer; the first word of the id says what it is. */
  readonly send: (id: string, method: string, params?: object) => void;
  /** File work that takes longer than what is sent together with it. */
  readonly copy: (id?: string) => void;
  /** The ids of the next answers, in the order in which they come. */
  readonly answers: (count: number) => Promise<unknown[]>;
  readonly answer: (id: string) => Promise<Message>;
}

/**
 * What is sent before the next wait leaves in one piece. Otherwise a pause of this process between two messages would
 * be time in which the server ends the work of the first.
 */
function sendTogether({ webSocket, child }: RawPeer): void {
  const stream = (webSocket as { _socket?: Writable } | undefined)?._socket ?? child?.stdin;
  if (!stream || stream.writableCorked > 0) return;
  stream.cork();
  queueMicrotask(() => stream.uncork());
}

function work(body: (work: Work) => Promise<void>, handshake: object = {}) {
  return async ({ connect }: VerifyContext): Promise<void> => {
    const directory = await mkdtemp(join(tmpdir(), "conformance-overtaking-"));
    try {
      await writeFile(join(directory, "large"), Buffer.alloc(16 * MIB, "x"));
      const peer = await connect();
      await peer.request("initialize", { clientName: "conformance", ...handshake });
      peer.notify("initialized");
      const send = (id: string, method: string, params?: object) => {
        sendTogether(peer);
        peer.sendText(JSON.stringify({ id, method, params }));
      };
      let copies = 0;
      await body({
        peer,
        directory,
        send,
        copy: (id = "copy") => {
          copies += 1;
          const destinationPath = join(directory, `copy ${copies}`);
          send(id, "fs/copy", { sourcePath: join(directory, "large"), destinationPath, recursive: false });
        },
        answers: async (count) => {
          const ids: unknown[] = [];
          while (ids.length < count) ids.push((await peer.next(({ id }) => id !== undefined, 20_000)).id);
          return ids;
        },
        answer: (id) => peer.next((message) => message.id === id, 20_000),
      });
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  };
}

verifies(
  "order.overtaking:control",
  work(async ({ peer, send, copy, answers, answer }) => {
    await peer.request("process/start", start("p", ["cat"], { tty: true }));
    copy();
    copy("copy again");
    send("read", "process/read", { processId: "p" });
    send("poll", "process/read", { processId: "p", waitMs: 20_000 });
    send("resize", "process/resize", { processId: "p", rows: 5, cols: 50 });
    send("flow", "process/flow", { processId: "p", paused: false });
    send("signal", "process/signal", { processId: "p", signal: "user1" });
    expect(await answers(4)).toEqual(["read", "resize", "flow", "signal"]);
    expect(new Set(await answers(3))).toEqual(new Set(["copy", "copy again", "poll"]));
    await peer.nextNotification("process/closed", "p");
    await peer.request("process/start", start("q", ["sleep", "60"]));
    copy();
    send("terminate", "process/terminate", { processId: "q" });
    expect(await answer("terminate")).toMatchObject({ result: { running: true } });
    expect(await answers(1)).toEqual(["copy"]);
  }),
);

verifies(
  "order.overtaking:start",
  work(async ({ peer, directory, send, copy }) => {
    for (let round = 0; round < 5; round += 1) {
      const script = join(directory, `run${round}.sh`);
      // Long enough that it is not written in one go.
      const text = `echo round ${round}\nexit 0\n${"# filler\n".repeat(200_000)}`;
      copy(`copy ${round}`);
      send(`write ${round}`, "fs/writeFile", { path: script, dataBase64: base64(text) });
      send(`start ${round}`, "process/start", start(`p${round}`, ["sh", script]));
      const { params } = await peer.nextNotification("process/output", `p${round}`, 20_000);
      expect(fromBase64(params.chunk)).toBe(`round ${round}\n`);
    }
  }),
);

verifies(
  "order.overtaking:own-start",
  work(async ({ send, copy, answer }) => {
    copy();
    send("start", "process/start", start("p", ["sleep", "60"]));
    send("read", "process/read", { processId: "p" });
    send("terminate", "process/terminate", { processId: "p" });
    expect(await answer("start")).toMatchObject({ result: { processId: "p" } });
    expect(await answer("read")).toMatchObject({ result: { exited: false } });
    expect(await answer("terminate")).toMatchObject({ result: { running: true } });
  }),
);

verifies(
  "order.overtaking:one-process",
  work(async ({ peer, send, copy, answers }) => {
    await peer.request("process/start", start("p", ["cat"], { pipeStdin: true }));
    await peer.request("process/start", start("q", ["sleep", "60"]));
    copy();
    send("write", "process/write", { processId: "p", chunk: base64("x\n"), writeId: "1" });
    send("terminate p", "process/terminate", { processId: "p" });
    send("terminate q", "process/terminate", { processId: "q" });
    expect(await answers(4)).toEqual(["terminate q", "copy", "write", "terminate p"]);
  }),
);

verifies(
  "order.overtaking:input-waits",
  work(async ({ peer, directory, send, copy, answers }) => {
    await peer.request("process/start", start("p", ["sh"], { pipeStdin: true, cwd: `file://${directory}` }));
    copy();
    send("file", "fs/writeFile", { path: join(directory, "note"), dataBase64: base64("read me\n") });
    send("write", "process/write", { processId: "p", chunk: base64("cat note\n"), writeId: "1" });
    send("closeStdin", "process/closeStdin", { processId: "p" });
    expect(await answers(4)).toEqual(["copy", "file", "write", "closeStdin"]);
    const { params } = await peer.nextNotification("process/output", "p");
    expect(fromBase64(params.chunk)).toBe("read me\n");
  }),
);

verifies(
  "order.overtaking:urgent-input",
  work(
    async ({ peer, directory, send, copy, answers }) => {
      const target = join(directory, "input");
      await peer.request("process/start", start("p", ["sh", "-c", `cat > ${target}`], { pipeStdin: true }));
      copy();
      const ids = Array.from({ length: 50 }, (_, index) => `write ${index}`);
      for (const id of ids)
        send(id, "process/write", { processId: "p", chunk: base64(`${id}\n`), writeId: id });
      send("closeStdin", "process/closeStdin", { processId: "p" });
      expect(await answers(52)).toEqual([...ids, "closeStdin", "copy"]);
      await peer.nextNotification("process/closed", "p");
      expect(await readFile(target, "utf8")).toBe(`${ids.join("\n")}\n`);
    },
    { urgentInput: true },
  ),
);

verifies(
  "order.overtaking:v0",
  work(async ({ peer, send, copy, answers, answer }) => {
    const sleep = { argv: ["sleep", "60"], cwd: "file:///", env: { PATH: process.env["PATH"] }, tty: false };
    expect(await peer.request("command/exec", sleep)).toEqual({ sessionId: "session-1" });
    copy();
    send("terminate 1", "command/exec/terminate", { sessionId: "session-1" });
    expect(await answers(2)).toEqual(["terminate 1", "copy"]);
    copy("copy again");
    send("start", "command/exec", sleep);
    send("terminate 2", "command/exec/terminate", { sessionId: "session-2" });
    expect(await answer("terminate 2")).toMatchObject({ result: { running: true } });
  }),
);

verifies("initialize:urgent-input", async ({ connect }) => {
  for (const urgentInput of [true, false, null]) {
    const connection = await connect();
    expect(await connection.request("initialize", { clientName: "x", urgentInput })).toHaveProperty(
      "sessionId",
    );
  }
});
