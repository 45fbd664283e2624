import { afterEach, beforeEach, expect, it } from "vitest";
import { type LogFields, silentLogger } from "../base/logger.ts";
import { createMemoryPair } from "../transport/memory.ts";
import type { Transport } from "../transport/transport.ts";
import { createServer, type Server } from "./serve/server.ts";

let warnings: { message: string; fields: LogFields | undefined }[];
let server: Server;

beforeEach(() => {
  warnings = [];
  server = createServer({
    logger: { ...silentLogger, warn: (message, fields) => void warnings.push({ message, fields }) },
  });
});

afterEach(() => server.close());

function client(): { peer: Transport; answers: string[] } {
  const [peer, far] = createMemoryPair();
  const answers: string[] = [];
  peer.open({ message: (text) => void answers.push(text), drain: () => {}, close: () => {} });
  server.accept(far);
  return { peer, answers };
}

it.each([
  ["is no message", "malformed message", ["secret {", "[secret]", "secret"]],
  ["is an answer to nothing", "unexpected answer", ['{"id":"secret","result":1}']],
  ["is a notification that no client sends", "unexpected notification", ['{"method":"secret"}']],
])("what %s is logged once for each connection, without what was sent", async (_, reason, messages) => {
  const { peer } = client();
  for (const message of messages) peer.send(message);
  await expect.poll(() => warnings).toHaveLength(1);
  expect(warnings[0]).toMatchObject({ message: "a client violated the protocol", fields: { reason } });
  expect(JSON.stringify(warnings)).not.toContain("secret");
});

it("output that is evicted is logged once for each process", async () => {
  const { peer, answers } = client();
  const ask = (id: number, method: string, params: object): void =>
    peer.send(JSON.stringify({ id, method, params }));
  ask(1, "initialize", { clientName: "test" });
  peer.send(JSON.stringify({ method: "initialized", params: {} }));
  const start = { cwd: "file:///", env: { PATH: "/usr/bin:/bin" }, tty: false };
  ask(2, "process/start", { ...start, processId: "quiet", argv: ["head", "-c", "900000", "/dev/zero"] });
  ask(3, "process/start", { ...start, processId: "loud", argv: ["head", "-c", "9000000", "/dev/zero"] });
  const closed = (id: string) => answers.some((text) => text.includes("process/closed") && text.includes(id));
  await expect.poll(() => closed("quiet") && closed("loud")).toBe(true);
  expect(warnings).toMatchObject([
    { message: "output of a process was evicted to retain newer output", fields: { program: "head" } },
  ]);
});
