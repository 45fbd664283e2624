import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { CommandLine } from "./command-line.ts";

let line: CommandLine;
beforeAll(async () => {
  line = await CommandLine.start();
  await writeFile(join(line.directory, "token"), "secret-of-at-least-some-length");
});
afterAll(async () => line?.[Symbol.asyncDispose]());

/** Starts a server whose stderr is a terminal, waits for its address and stops it. */
async function serveInTerminal(args: string): Promise<{ stdout: string; stderr: string }> {
  const serve = `exec-server ${args} > out & until [ -s out ]; do sleep 0.05; done; kill %1; wait %1`;
  const { stdout: stderr } = await line.runInTerminal(serve);
  return { stdout: (await line.run("cat out; rm out")).stdout, stderr };
}

test("in a terminal, stderr says how to connect, and stdout stays one line", async () => {
  const { stdout, stderr } = await serveInTerminal("");
  expect(stdout).toMatch(/^ws:\/\/127\.0\.0\.1:\d+\n$/);
  const url = stdout.trim();
  const lines = stderr.split("\n");
  expect(lines[0]).toMatch(new RegExp(`^exec-server \\S+ listens on ${url}$`));
  expect(lines).toContainEqual(
    expect.stringMatching(new RegExp(`^  ${url.replace("ws", "http")}/#link=[\\w-]{43}$`)),
  );
  expect(lines).toContain(`  exec-server open --url ${url}`);
  expect(lines).toContain(`  CODEX_EXEC_SERVER_URL=${url} codex`);
  expect(lines).toContain(`  const host = await connect("${url}");`);
  expect(lines).toContain(`  exec-server run --url ${url} -- uname -a`);
  expect(lines.slice(-3)).toEqual([
    "All commands: exec-server --help",
    "Options of the server: exec-server serve --help",
    "",
  ]);
  expect(lines.filter((each) => each.length > 80)).toEqual([]);
});

test("a person who says nothing is greeted, and nothing starts", async () => {
  const { status, stdout } = await line.runInTerminal("exec-server");
  expect(status).toBe(0);
  const lines = stdout.split("\n");
  expect(lines[0]).toMatch(/^exec-server runs processes/);
  expect(lines).toContainEqual(expect.stringContaining("exec-server run -- uname -a"));
  expect(lines.filter((each) => each.length > 80)).toEqual([]);
});

test("in a terminal, the log is for people, and elsewhere for programs", async () => {
  const exposed = "--listen ws://0.0.0.0:0 --ws-auth capability-token --ws-token-file token";
  const message = "connections are not encrypted";
  const { stderr } = await serveInTerminal(exposed);
  expect(stderr).toMatch(
    new RegExp(`^\\d\\d:\\d\\d:\\d\\d warn  ${message}.* listen=ws://0.0.0.0:0 remedy="`, "m"),
  );
  const chosen = await serveInTerminal(`${exposed} --log-format json`);
  expect(chosen.stderr).toContain(`"level":"warn","message":"${message}`);
  const piped = await line.run(
    `sh -c 'echo $$ > pid; exec exec-server ${exposed}' 2>&1 >out | { head -n 1; kill $(cat pid); }; rm out pid`,
  );
  expect(JSON.parse(piped.stdout)).toMatchObject({ level: "warn" });
});

test("with a token, the lines say where it goes", async () => {
  const { stderr } = await serveInTerminal("--ws-auth capability-token --ws-token-file token");
  expect(stderr).toMatch(
    /environments = \[\{ id = "here", url = "ws:[^"]+", auth_bearer_token = "TOKEN" \}\]/,
  );
  expect(stderr).toContain("--token-file FILE -- uname -a");
  expect(stderr).not.toContain("secret");
});

test("a socket is reached from Codex through the bridge", async () => {
  const { stdout, stderr } = await serveInTerminal(`--listen unix://${line.directory}/s.sock`);
  expect(stdout).toBe(`ws+unix://${line.directory}/s.sock\n`);
  expect(stderr).toContain(
    `program = "exec-server", args = ["bridge", "--stdio", "--url", "${stdout.trim()}"]`,
  );
});

test("without a terminal stderr has only the link of the console, or nothing", async () => {
  const serve = (flags: string, awaited: "out" | "err") =>
    line.run(
      `rm -f out err; exec-server ${flags} 2> err > out & ` +
        `until [ -s ${awaited} ]; do sleep 0.05; done; kill $!; wait $!; cat err`,
    );
  expect(await serve("", "err")).toEqual({
    status: 0,
    stdout: expect.stringMatching(
      /^Console: http:\/\/127\.0\.0\.1:\d+\/#link=[\w-]{43} \(this link works once\)\n$/,
    ),
    stderr: "",
  });
  expect(await serve("--no-console", "out")).toEqual({ status: 0, stdout: "", stderr: "" });
  expect(await serve("--ws-auth capability-token --ws-token-file token", "err")).toMatchObject({
    stdout: expect.stringMatching(/^Console: http:\/\/127\.0\.0\.1:\d+\/ \(it asks for a token\)\n$/),
  });
});
