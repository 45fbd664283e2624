// One client starts a process and detaches; another resumes the session and reads all of the output.
import assert from "node:assert/strict";
import { connect } from "exec-server";
import { createServer } from "exec-server/server";
import { listenWebSocket } from "exec-server/transport";

const server = createServer({ environment: process.env });
const listener = await listenWebSocket({
  host: "127.0.0.1",
  port: 0,
  accept: (transport) => server.accept(transport),
});

const first = await connect(listener.url);
const started = await first.start(["sh", "-c", "echo before; read line; echo $line"], { stdin: "pipe" });
const { sessionId } = first;
await first.detach();

{
  await using second = await connect(listener.url, { resumeSessionId: sessionId });
  const process = await second.adopt(started.id);
  await process.write("after\n");
  let text = "";
  for await (const { bytes } of process.output()) text += new TextDecoder().decode(bytes);
  assert.equal(text, "before\nafter\n");
}
await server.close();
await listener.close();
