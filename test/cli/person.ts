import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { socketUrl } from "../../src/base/socket-url.ts";
import { connect } from "../../src/client/host/connect.ts";
import type { Result } from "../../src/protocol/index.ts";
import { type CommandOptions, type Ended, runCommand } from "./command.ts";
import { killIfThere } from "../fixtures/kill-if-there.ts";

/** A user with their own home and runtime directory, and so their own server. */
export class Person implements AsyncDisposable {
  readonly home = mkdtempSync(join(tmpdir(), "es-"));
  readonly runtime = join(this.home, "run");
  readonly socket = join(this.runtime, "exec-server", "server.sock");
  readonly log = join(this.runtime, "exec-server", "server.log");
  readonly env: Readonly<Record<string, string>> = {
    HOME: this.home,
    XDG_RUNTIME_DIR: this.runtime,
    // Nothing stays for long if a test is interrupted.
    EXEC_SERVER_EXIT_WHEN_IDLE: "30s",
  };

  constructor() {
    mkdirSync(this.runtime, { mode: 0o700 });
  }

  /** Runs `exec-server ARGS` to its end. */
  run(args: readonly string[], options: CommandOptions = {}): Promise<Ended> {
    return runCommand(args, { cwd: this.home, ...options, env: { ...this.env, ...options.env } });
  }

  /** What the own server says about itself. Rejects if there is none. */
  async server(): Promise<Result<"server/status">> {
    await using host = await connect(socketUrl(this.socket));
    return await host.request("server/status", null);
  }

  /** Ends the own server by force, with everything that it runs. */
  async [Symbol.asyncDispose](): Promise<void> {
    const server = await this.server().catch(() => undefined);
    if (server !== undefined) killIfThere(server.pid);
    rmSync(this.home, { recursive: true, force: true, maxRetries: 5 });
  }
}
