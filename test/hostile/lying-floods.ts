import { connect } from "../../src/client/host/connect.ts";
import type { Host } from "../../src/client/host/host.ts";
import { ScriptedServer } from "./scripted-server.ts";

// Hundreds of megabytes of everything that a client might keep for a reader who never comes.

const PAYLOAD = 64 * 1024;
const MESSAGES = 5_000;
const text = "x".repeat(PAYLOAD);
const base64 = Buffer.alloc((PAYLOAD / 4) * 3).toString("base64");

/** Sends a message for each number, yielding in between; resolves with the bytes sent. */
async function pour(server: ScriptedServer, messageOf: (index: number) => object): Promise<number> {
  for (let index = 0; index < MESSAGES; index += 1) {
    server.say(messageOf(index));
    if (index % 16 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  return MESSAGES * PAYLOAD;
}

const floodOf =
  (
    prepare: (host: Host, server: ScriptedServer) => Promise<unknown>,
    messageOf: (index: number) => object,
  ): (() => Promise<number>) =>
  async () => {
    const server = new ScriptedServer();
    const host = await connect(await server.open(), {});
    const kept = await prepare(host, server);
    const sent = await pour(server, messageOf);
    await host.close();
    // Until here it might have been read.
    return kept === undefined ? 0 : sent;
  };

const output = (seq: number, processId = "p") => ({
  method: "process/output",
  params: { processId, seq, stream: "stdout", chunk: base64 },
});

const started = async (host: Host): Promise<unknown> => {
  const process = await host.start(["stays"], { processId: "p" });
  return [process, process.events(), process.output()];
};

/** A started process has sent three events. */
const TOLD = 3;

export const FLOODS: Readonly<Record<string, () => Promise<number>>> = {
  "output that nobody reads": floodOf(started, (index) => output(TOLD + 1 + index)),
  "output that comes early": floodOf(started, (index) => output(TOLD + 2 + index * 2)),
  "output of nobody": floodOf(started, (index) => output(index + 1, `unknown-${index}`)),
  "ends with long texts": floodOf(started, (index) => ({
    method: "process/exited",
    params: { processId: "p", seq: TOLD + 2 + index, exitCode: 0, exit: { signal: text } },
  })),
  "ends of nobody": floodOf(started, (index) => ({
    method: "process/exited",
    params: { processId: `${text}${index}`, seq: 1, exitCode: 0 },
  })),
  "a body that nobody reads": floodOf(
    (host) => host.fetch("http://upstream.test/stays"),
    (index) => ({
      method: "http/request/bodyDelta",
      params: { requestId: "http-1", seq: index + 1, deltaBase64: base64, done: false, error: null },
    }),
  ),
  "changes that nobody reads": floodOf(
    (host) => host.files.watch("/w/stays"),
    (index) => ({
      method: "fs/watch/changed",
      params: {
        watchId: "watch-1",
        paths: [`file:///w/stays/${index}${text}`],
        overflow: false,
        ended: false,
      },
    }),
  ),
  "requests whose answers nobody reads": floodOf(
    async (host, server) => {
      server.deafen();
      return host;
    },
    (index) => ({ id: `${text}${index}`, method: text.slice(0, 1000) }),
  ),
  "answers to nothing": floodOf(started, (index) => ({ id: index + 1000, result: text })),
  "notifications that nobody knows": floodOf(started, () => ({ method: text, params: { text } })),
};
