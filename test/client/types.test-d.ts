// Compiled, never run: what must not compile, and what the types of what does must be.
import { expectTypeOf } from "vitest";
import {
  connect,
  type ExitReport,
  type Host,
  type OutputChunk,
  type ProcessEvent,
  type RemoteProcess,
} from "../../src/client/index.ts";

export async function requestsAreTyped(host: Host): Promise<void> {
  const read = await host.request("process/read", { processId: "p", afterSeq: 1 });
  expectTypeOf(read.exitCode).toEqualTypeOf<number | null>();
  expectTypeOf(read.nextSeq).toEqualTypeOf<number>();
  // @ts-expect-error no such method
  await host.request("process/invented", {});
  // @ts-expect-error a notification is not a request
  await host.request("process/output", { processId: "p" });
  // @ts-expect-error a parameter is missing
  await host.request("process/read", {});
  // @ts-expect-error a parameter has the wrong type
  await host.request("process/read", { processId: 7 });
  // @ts-expect-error a parameter is misspelt
  await host.request("process/read", { processId: "p", afterSequence: 1 });
  // @ts-expect-error a parameter has a value that is not among those allowed
  await host.request("process/signal", { processId: "p", signal: "hangup-please" });
  // @ts-expect-error the result has no such field
  void read.stdout;
  // @ts-expect-error the exit code may be null
  void (read.exitCode + 1);
  const { running } = await host.request("process/terminate", { processId: "p" });
  expectTypeOf(running).toEqualTypeOf<boolean>();
}

export async function runsAreTyped(host: Host): Promise<void> {
  const result = await host.run(["git", "status"], { cwd: "/", check: true, input: new Uint8Array(1) });
  expectTypeOf(result.stdout).toEqualTypeOf<string>();
  expectTypeOf(result.stdoutBytes).toEqualTypeOf<Uint8Array>();
  expectTypeOf(result.exitCode).toEqualTypeOf<number | null>();
  await host.run("git status", { onStdout: (text) => expectTypeOf(text).toEqualTypeOf<string>() });
  // @ts-expect-error arguments are text
  await host.run(["sleep", 1]);
  // @ts-expect-error no such option
  await host.run(["true"], { timeout: 1 });
  // @ts-expect-error run decides about stdin by itself
  await host.run(["true"], { stdin: "pipe" });
  // @ts-expect-error the exit code may be null
  const code: number = result.exitCode;
  void code;
  // @ts-expect-error it is a promise until it is awaited
  void host.run(["true"]).exitCode;
}

export async function sandboxesAreTyped(host: Host): Promise<void> {
  await host.run(["true"], { sandbox: { write: ["."], read: ["/srv"], deny: ["**/.env"], network: true } });
  await host.start(["true"], { sandbox: "workspace-write" });
  expectTypeOf(host.files.within("read-only", { cwd: "/srv" })).toEqualTypeOf(host.files);
  // @ts-expect-error there are two presets
  await host.run(["true"], { sandbox: "danger-full-access" });
  // @ts-expect-error a sandbox has no such member
  await host.run(["true"], { sandbox: { writes: ["."] } });
  // @ts-expect-error a list of paths, even of one
  await host.run(["true"], { sandbox: { write: "." } });
}

export async function processesAreTyped(host: Host): Promise<void> {
  const remote: RemoteProcess = await host.start(["any"], { stdin: "pipe", inheritEnv: "core" });
  expectTypeOf(remote.exited).toEqualTypeOf<Promise<ExitReport>>();
  for await (const chunk of remote.output()) {
    expectTypeOf(chunk).toEqualTypeOf<OutputChunk>();
    expectTypeOf(chunk.stream).toEqualTypeOf<"stdout" | "stderr" | "pty">();
    // @ts-expect-error output is bytes, not text
    void chunk.bytes.split("\n");
  }
  for await (const event of remote.events()) {
    // @ts-expect-error not every event has bytes
    void event.bytes;
    if (event.kind === "output") expectTypeOf(event.bytes).toEqualTypeOf<Uint8Array>();
    // @ts-expect-error no such kind
    if (event.kind === "ended") break;
    void describeEvent(event);
  }
  // @ts-expect-error stdin is a pipe or none
  await host.start(["any"], { stdin: "inherit" });
  // @ts-expect-error only text and bytes can be written
  await remote.write(42);
  // @ts-expect-error a size needs both
  await remote.resize({ cols: 80 });
  // @ts-expect-error a terminal has its input always
  await host.terminal(["any"], { stdin: "none" });
  // @ts-expect-error what names the process cannot be changed
  remote.id = "other";
}

/** A switch without a default compiles only when it knows all kinds. */
function describeEvent(event: ProcessEvent): string {
  switch (event.kind) {
    case "output":
      return event.stream;
    case "exited":
      return String(event.exitCode);
    case "closed":
      return "closed";
    case "gap":
      return `${event.fromSeq} to ${event.toSeq}`;
    case "failed":
      return event.message;
  }
}

export async function connectingIsTyped(): Promise<void> {
  await using host = await connect(
    { command: ["exec-server", "--listen", "stdio"] },
    { connectTimeoutMs: 1 },
  );
  expectTypeOf(host.state).toEqualTypeOf<"connected" | "recovering" | "closed">();
  expectTypeOf(host.fetch).toEqualTypeOf<typeof globalThis.fetch>();
  // @ts-expect-error a command has at least a program
  await connect({ command: [] });
  // @ts-expect-error not a target
  await connect(7070);
  // @ts-expect-error no such option
  await connect("ws://127.0.0.1:1", { timeout: 1 });
  // @ts-expect-error the server may not have said anything about itself
  void host.environment.cwd;
  // @ts-expect-error the state cannot be set
  host.state = "closed";
}
