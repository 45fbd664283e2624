import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { notifyReady } from "./notify-manager.ts";

/** Prints one message, and says before that it listens. */
const MANAGER = `use Socket; $| = 1; my $name = $ARGV[0]; $name =~ s/^@/\\0/;
socket(S, PF_UNIX, SOCK_DGRAM, 0) && bind(S, pack_sockaddr_un($name)) or die; print "listens\\n"; recv(S, $text, 100, 0); print $text;`;

it.each([
  ["a path", (directory: string) => join(directory, "notify")],
  ["a name that is no path", () => `@exec-server-test-${process.pid}`],
])("reaches a service manager at %s", async (_, name) => {
  const directory = mkdtempSync(join(tmpdir(), "notify-"));
  const path = name(directory);
  const manager = spawn("perl", ["-e", MANAGER, path], { stdio: ["ignore", "pipe", "inherit"] });
  let said = "";
  manager.stdout.setEncoding("utf8").on("data", (text: string) => (said += text));
  await once(manager.stdout, "data");
  notifyReady(path);
  await once(manager, "close");
  expect(said).toBe("listens\nREADY=1");
  rmSync(directory, { recursive: true });
});

it("fails if nobody listens", () => {
  expect(() => notifyReady("/nowhere/notify")).toThrow("No such file");
});
