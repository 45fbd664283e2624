// Has calls of every kind pending while it is stopped, and reports the codes with which they reject.
// silent-network.test.ts starts it as a separate program.
import { connect } from "../../src/client/host/connect.ts";

const [url = ""] = process.argv.slice(2);

async function codeOf(call: Promise<unknown>): Promise<unknown> {
  try {
    return `resolved ${JSON.stringify(await call)}`;
  } catch (error) {
    return (error as { code?: unknown }).code;
  }
}

async function main(): Promise<void> {
  const host = await connect(url);
  const remote = await host.start(["/bin/sh", "-c", "echo $$; exec sleep 600"], { stdin: "pipe" });
  const output = remote.output();
  const { value } = await output.next();
  const pending: Record<string, Promise<unknown>> = {
    read: host.request("process/read", {
      processId: remote.id,
      afterSeq: 1,
      maxBytes: null,
      waitMs: 600_000,
    }),
    exited: remote.exited,
    closed: remote.closed,
    wait: remote.wait({ timeoutMs: 600_000 }),
    output: output.next(),
    run: host.run(["/bin/sleep", "600"]),
  };
  const codes = Object.entries(pending).map(async ([name, call]) => [name, await codeOf(call)] as const);
  process.stdout.write(Buffer.from((value as { bytes: Uint8Array }).bytes));
  // Stopped here, for as long as the session lasts.
  const outcomes = Object.fromEntries(await Promise.all(codes)) as Record<string, unknown>;
  outcomes["host.closed"] = (await host.closed).code;
  outcomes["new run"] = await codeOf(host.run(["/bin/true"]));
  outcomes["new file"] = await codeOf(host.files.write("/tmp/x", "x"));
  outcomes["write"] = await codeOf(remote.write("x"));
  outcomes["kill"] = await codeOf(remote.kill());
  process.stdout.write(`${JSON.stringify(outcomes)}\n`);
}

void main();
