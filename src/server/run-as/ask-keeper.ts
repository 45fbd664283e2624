import { connect } from "node:net";
import { createDeferred } from "../../base/deferred.ts";
import { CapabilityError, messageOf } from "../../base/errors.ts";
import { descriptorOf, peerProcess } from "../../native/peer-process.ts";
import { readFrames, writeFrame } from "../wire/frames.ts";
import { type FromUserServer, type KeeperCommand, type KeeperStatus, PROTOCOL } from "./messages.ts";
import { readUserMessage } from "./read-user-message.ts";

/** Rejects with a CapabilityError if the keeper does not answer in time, and if none listens there. */
export async function keeperStatus(path: string, timeoutMs: number): Promise<KeeperStatus> {
  const answer = await ask(path, "status", timeoutMs);
  if (answer.kind === "status") return answer.status;
  throw new CapabilityError("OS_ERROR", answer.kind === "fault" ? answer.message : "it does not answer");
}

/** Ends a keeper, with everything that it runs. The same. */
export async function endKeeper(path: string, timeoutMs: number): Promise<void> {
  const answer = await ask(path, "end", timeoutMs);
  if (answer.kind === "fault") throw new CapabilityError("OS_ERROR", answer.message);
}

async function ask(path: string, command: KeeperCommand, timeoutMs: number): Promise<FromUserServer> {
  const answered = createDeferred<FromUserServer>();
  const fail = (why: string): void => answered.reject(new CapabilityError("OS_ERROR", why));
  const socket = connect({ path });
  const timer = setTimeout(() => fail(`it has not answered within ${timeoutMs} ms`), timeoutMs);
  socket.on("connect", () => {
    // One that somebody has stopped cannot answer.
    const { pid } = peerProcess(descriptorOf(socket));
    if (pid > 0) process.kill(pid, "SIGCONT");
    writeFrame(socket, "open", { text: JSON.stringify({ role: "command", protocol: PROTOCOL, command }) });
  });
  socket.on("error", (error) => fail(messageOf(error)));
  socket.on("close", () => fail("it has ended without an answer"));
  readFrames(
    socket,
    {
      frame: ({ text }) => {
        const message = readUserMessage(text);
        if (message !== undefined) answered.resolve(message);
        return undefined;
      },
    },
    () => fail("it sent something that is not a message"),
  );
  try {
    return await answered.promise;
  } finally {
    clearTimeout(timer);
    socket.destroy();
  }
}
