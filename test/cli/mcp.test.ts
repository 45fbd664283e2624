import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { McpScene, type McpUser } from "./mcp-scene.ts";

let scene: McpScene;
beforeEach(() => {
  scene = new McpScene();
});
afterEach(() => scene[Symbol.asyncDispose]());

const at = (name: string): string => join(scene.root, name);

const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

for (const [version, options] of [
  ["2025-11-25", {}],
  ["2026-07-28", { versionNegotiation: { mode: { pin: "2026-07-28" } } }],
] as const)
  describe(`with ${version}`, () => {
    let user: McpUser;
    beforeEach(async () => {
      user = await scene.start({ options });
    });

    it("says where it works, and which tools there are", async () => {
      expect(user.client.getNegotiatedProtocolVersion()).toBe(version);
      expect(user.client.getInstructions()).toContain(`in ${scene.root}. Commands run in a sandbox: `);
      const { tools } = await user.client.listTools();
      expect(tools.map(({ name }) => name)).toEqual([
        "exec_command",
        "write_stdin",
        "read_output",
        "list_processes",
        "kill_process",
        "wait_for",
        "read_file",
        "write_file",
        "edit_file",
        "list_directory",
        "search_files",
      ]);
      for (const tool of tools) {
        expect(tool.annotations).toMatchObject({
          readOnlyHint: expect.any(Boolean),
          openWorldHint: expect.any(Boolean),
        });
        expect(tool.outputSchema === undefined).toBe(tool.name === "read_file");
      }
    });

    it("runs a command", async () => {
      const { text, structured } = await user.call("exec_command", {
        cmd: "echo $((6 * 7)); exit 3",
        login: false,
      });
      expect(structured).toMatchObject({ output: "42\n", running: false, exit_code: 3 });
      expect(text).toContain("Exit code: 3");
      expect(text).toContain("42\n");
    });

    it("talks to a command on a terminal, waits for it, lists it and ends it", async () => {
      const started = await user.call("exec_command", {
        cmd: "read name; echo hello $name; read more",
        login: false,
        tty: true,
        yield_time_ms: 250,
      });
      const { session_id } = started.structured as { session_id: number };
      expect(started.structured).toMatchObject({ running: true });
      const sent = user.call("write_stdin", { session_id, chars: "Ann\n", yield_time_ms: 250 });
      const waited = await user.call("wait_for", { session_id, pattern: "^hello (?!\\$)" });
      expect(waited.structured).toMatchObject({ reason: "matched", line: "hello Ann", running: true });
      await sent;
      const listed = await user.call("list_processes");
      expect(listed.structured).toMatchObject({
        processes: [
          { session_id, running: true, tty: true, workdir: scene.root, unread_bytes: expect.any(Number) },
        ],
      });
      const again = await user.call("read_output", { session_id, offset: -11 });
      expect(again.structured).toMatchObject({ output: "hello Ann\r\n", running: true });
      const killed = await user.call("kill_process", { session_id });
      expect(killed.structured).toMatchObject({ running: false });
      const gone = await user.call("write_stdin", { session_id });
      expect(gone).toMatchObject({ isError: true, text: expect.stringContaining("has ended") });
    });

    it("returns what was cut out of long output", async () => {
      const { structured } = await user.call("exec_command", {
        cmd: "seq 20000",
        login: false,
        max_output_tokens: 100,
      });
      const { session_id, output_offset } = structured as { session_id: number; output_offset: number };
      expect(structured).toMatchObject({ running: false, exit_code: 0, omitted_tokens: expect.any(Number) });
      const whole: string[] = [];
      for (let offset = output_offset, more = true; more; ) {
        const part = await user.call("read_output", { session_id, offset });
        const { output, next_offset, total_bytes } = part.structured as Record<string, number | string>;
        whole.push(output as string);
        offset = next_offset as number;
        more = next_offset !== total_bytes;
      }
      expect(whole.join("")).toBe(Array.from({ length: 20_000 }, (_, index) => `${index + 1}\n`).join(""));
    });

    it("writes, reads, edits, lists and searches files", async () => {
      const written = await user.call("write_file", { path: "src/a.txt", content: "one\ntwo\nthree\n" });
      expect(written.structured).toEqual({ path: at("src/a.txt"), bytes: 14, created: true });
      const read = await user.call("read_file", { path: "src/a.txt", offset: 2, limit: 1 });
      expect(read.text).toBe("two\n[There is more: offset 3 continues.]");
      const edited = await user.call("edit_file", { path: "src/a.txt", old_string: "two", new_string: "2" });
      expect(edited.structured).toMatchObject({
        replacements: 1,
        diff: `--- a${at("src/a.txt")}\n+++ b${at("src/a.txt")}\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n`,
      });
      expect(readFileSync(at("src/a.txt"), "utf8")).toBe("one\n2\nthree\n");
      const listed = await user.call("list_directory");
      expect(listed.structured).toMatchObject({ path: scene.root, omitted: 0 });
      expect(listed.structured["entries"]).toContainEqual({ name: "src", kind: "directory" });
      const found = await user.call("search_files", { pattern: "^t[a-z]+e", glob: "*.txt" });
      expect(found.structured).toMatchObject({
        matches: [{ path: at("src/a.txt"), line: 3, text: "three" }],
        truncated: false,
      });
      expect((await user.call("search_files", { pattern: "absent" })).structured).toMatchObject({
        matches: [],
      });
    });

    it("shows an image as an image, without JSON beside it", async () => {
      writeFileSync(at("dot.png"), PNG);
      const { content, structured } = await user.call("read_file", { path: "dot.png" });
      expect(content).toContainEqual({ type: "image", data: PNG.toString("base64"), mimeType: "image/png" });
      expect(structured).toEqual({});
    });

    it("waits for a change of a file, and for the end of a command", async () => {
      writeFileSync(at("watched"), "old");
      const change = await user.call("exec_command", {
        cmd: "for i in $(seq 20); do sleep 0.2; echo $i > watched; done; exit 4",
        login: false,
        yield_time_ms: 250,
      });
      const changed = await user.call("wait_for", { path: "watched" });
      expect(changed.structured).toMatchObject({ reason: "changed", paths: [at("watched")] });
      const { session_id } = change.structured;
      const ended = await user.call("wait_for", { session_id });
      expect(ended.structured).toMatchObject({ reason: "exited", exit_code: 4, running: false });
      const nothing = await user.call("wait_for", { path: "watched", timeout_ms: 10 });
      expect(nothing.structured).toMatchObject({ reason: "timeout", next: expect.stringContaining("again") });
    });

    it("reports progress with the last line of output", async () => {
      const ending = new AbortController();
      let call: Promise<unknown> | undefined;
      const progress = await new Promise((resolve) => {
        call = user.client.callTool(
          { name: "exec_command", arguments: { cmd: "echo working; sleep 300", login: false } },
          {
            signal: ending.signal,
            onprogress: (heard) => {
              if (heard.message !== undefined) resolve(heard);
            },
          },
        );
        call.catch(() => {});
      });
      expect(progress).toMatchObject({ progress: expect.any(Number), message: "working" });
      ending.abort();
      await expect(call).rejects.toThrow();
    });
  });

describe.each([
  ["2025-11-25", {}],
  ["2026-07-28", { versionNegotiation: { mode: { pin: "2026-07-28" } } }],
] as const)("with --ask and %s", (_, options) => {
  const args = ["--ask", "write_file,exec_command"];

  it("the user of the client decides about each call", async () => {
    const asked: string[] = [];
    const user = await scene.start({
      args,
      options: { ...options, capabilities: { elicitation: {} } },
      prepare: (client) =>
        client.setRequestHandler("elicitation/create", ({ params }) => {
          asked.push(params.message);
          return params.message.includes("good") ? { action: "accept", content: {} } : { action: "decline" };
        }),
    });
    expect(await user.call("write_file", { path: "good", content: "x" })).toMatchObject({ isError: false });
    expect(await user.call("write_file", { path: "bad", content: "x" })).toMatchObject({
      isError: true,
      text: expect.stringContaining("the user has refused this call"),
    });
    expect([existsSync(at("good")), existsSync(at("bad"))]).toEqual([true, false]);
    await user.call("read_file", { path: "good" });
    expect(asked).toEqual([
      expect.stringMatching(/^Write a file on .*\? \{"path":"good","content":"x"\}$/),
      expect.stringContaining('"bad"'),
    ]);
  });

  it("a client that cannot ask may not call", async () => {
    const user = await scene.start({ args, options });
    const call = user.call("write_file", { path: "x", content: "x" });
    const refused = await call.then(
      ({ text }) => text,
      ({ message }: Error) => message,
    );
    expect(refused).toMatch(/this client cannot ask them|elicitation/);
    expect(existsSync(at("x"))).toBe(false);
  });
});

it("makes HTTP requests if commands have a network", async () => {
  const server = createServer((asked, answer) => {
    if (asked.url === "/endless") {
      const piece = Buffer.alloc(64 * 1024, "x");
      const write = (): void => {
        while (!answer.destroyed && answer.write(piece));
      };
      answer.on("drain", write);
      write();
      return;
    }
    if (asked.url === "/torn") {
      answer.write("half", () => void setTimeout(() => answer.destroy(), 200));
      return;
    }
    answer.writeHead(418, { "x-asked": `${asked.method} ${String(asked.headers["x-why"])}` });
    asked.pipe(answer);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    const user = await scene.start({ args: ["--network"] });
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const { structured } = await user.call("http_request", {
      url,
      method: "POST",
      headers: { "x-why": "test" },
      body: "tea",
    });
    expect(structured).toMatchObject({ status: 418, headers: { "x-asked": "POST test" }, body: "tea" });
    expect(structured).not.toHaveProperty("note");
    const endless = await user.call("http_request", { url: `${url}endless`, max_output_tokens: 100 });
    expect(endless.structured).toMatchObject({
      status: 200,
      note: expect.stringMatching(/^The body is longer: only its first 8\d{6} bytes were read\.$/),
    });
    const torn = await user.call("http_request", { url: `${url}torn` });
    expect(torn.structured).toMatchObject({ body: "half", note: expect.stringContaining("did not end") });
  } finally {
    server.close();
  }
});

it("asks about the whole call, and never about one that is too long to read", async () => {
  const asked: string[] = [];
  const user = await scene.start({
    args: ["--ask", "exec_command"],
    options: { capabilities: { elicitation: {} } },
    prepare: (client) =>
      client.setRequestHandler("elicitation/create", ({ params }) => {
        asked.push(params.message);
        return { action: "accept", content: {} };
      }),
  });
  const run = (hiding: string) =>
    user.call("exec_command", { workdir: scene.root, cmd: `true ${hiding}; touch end`, login: false });
  expect(await run("x".repeat(4_000))).toMatchObject({
    isError: true,
    text: expect.stringMatching(/4\d{3} characters are too many to read; at most 4000/),
  });
  expect([asked, existsSync(at("end"))]).toEqual([[], false]);
  expect(await run(" ".repeat(9_000))).toMatchObject({ isError: false });
  expect(existsSync(at("end"))).toBe(true);
  expect(asked).toEqual([expect.stringMatching(/\? \{"cmd":"true\[9001 blanks\]; touch end","workdir":/)]);
});

describe("what may be changed", () => {
  it("is the working directory, and nothing else", async () => {
    const outside = join(scene.place, "outside");
    const user = await scene.start();
    for (const [name, args] of [
      ["write_file", { path: outside, content: "x" }],
      ["write_file", { path: "../outside", content: "x" }],
    ] as const) {
      const { isError, text } = await user.call(name, args);
      expect(isError).toBe(true);
      expect(text).toContain(`they can write below ${scene.root} and in /tmp only`);
    }
    const { structured } = await user.call("exec_command", { cmd: `touch ${outside}`, login: false });
    expect(structured).toMatchObject({
      exit_code: 1,
      output: expect.stringContaining("Read-only file system"),
    });
    expect(structured["notes"]).toEqual([
      expect.stringContaining(`they can write below ${scene.root} and in /tmp only`),
    ]);
    await user.call("write_file", { path: "inside", content: "x" });
    expect(readFileSync(at("inside"), "utf8")).toBe("x");
  });

  it("is nothing with --read-only", async () => {
    const user = await scene.start({ args: ["--read-only"] });
    const { tools } = await user.client.listTools();
    expect(tools.map(({ name }) => name)).not.toContain("write_file");
    const { structured } = await user.call("exec_command", {
      cmd: "touch inside || touch /tmp/es-x",
      login: false,
    });
    expect(structured).toMatchObject({ exit_code: 1 });
  });

  it("is every --root", async () => {
    const more = join(scene.place, "more");
    mkdirSync(more);
    const user = await scene.start({ args: ["--root", scene.root, "--root", more], cwd: "/" });
    await user.call("write_file", { path: join(more, "a"), content: "x" });
    await user.call("exec_command", { cmd: `pwd > b; cp b ${more}/c`, login: false });
    expect(readFileSync(join(more, "c"), "utf8")).toBe(`${scene.root}\n`);
    expect(readFileSync(join(more, "a"), "utf8")).toBe("x");
  });

  it("is not the home directory, or what holds it, unless it is named", async () => {
    const { home } = scene.person;
    for (const cwd of ["/", home]) {
      const user = await scene.start({ cwd });
      const { isError, text } = await user.call("exec_command", { cmd: "true" });
      expect({ isError, text }).toMatchObject({
        isError: true,
        text: expect.stringContaining("--root PATH"),
      });
    }
    const user = await scene.start({ cwd: "/", args: ["--root", home] });
    expect(await user.call("exec_command", { cmd: "touch x" })).toMatchObject({ isError: false });
  });

  it("is what the roots of the client allow of it", async () => {
    mkdirSync(at("a"));
    mkdirSync(at("b"));
    let roots = [at("a"), scene.place, "/"].slice(0, 1);
    const user = await scene.start({
      options: { capabilities: { roots: { listChanged: true } } },
      prepare: (client) =>
        client.setRequestHandler("roots/list", () => ({
          roots: roots.map((path) => ({ uri: `file://${path}` })),
        })),
    });
    const where = await user.call("exec_command", { cmd: "pwd; touch ../b/x", login: false });
    expect(where.structured["output"]).toMatch(`${at("a")}\ntouch: cannot touch`);
    roots = [scene.place];
    await user.client.sendRootsListChanged();
    expect(await user.call("write_file", { path: at("b/x"), content: "" })).toMatchObject({ isError: false });
    roots = ["/usr"];
    await user.client.sendRootsListChanged();
    const refused = await user.call("write_file", { path: at("b/x"), content: "" });
    expect(refused).toMatchObject({ isError: true, text: expect.stringContaining("lie outside of --root") });
  });

  it("is nothing where no sandbox works, and the model is told why", async () => {
    const user = await scene.start({ args: ["--url", "stdio"], env: { PATH: scene.place } });
    for (const [name, args] of [
      ["exec_command", { cmd: "touch x" }],
      ["write_file", { path: "x", content: "" }],
      ["search_files", { pattern: "x" }],
    ] as const) {
      const { isError, text } = await user.call(name, args);
      expect({ isError, text }).toMatchObject({
        isError: true,
        text: expect.stringMatching(/the sandbox is unavailable: bwrap was not found.*--sandbox none$/s),
      });
    }
    expect(existsSync(at("x"))).toBe(false);
  });

  it("is everything with --sandbox none", async () => {
    const outside = join(scene.place, "outside");
    const user = await scene.start({ args: ["--sandbox", "none"] });
    expect(user.client.getInstructions()).toContain("There is no sandbox");
    await user.call("exec_command", { cmd: `touch ${outside}`, login: false });
    await user.call("write_file", { path: outside, content: "x" });
    expect(readFileSync(outside, "utf8")).toBe("x");
  });
});

it("offers only the tools of --tools", async () => {
  const user = await scene.start({ args: ["--tools", "read_file,search_files"] });
  const { tools } = await user.client.listTools();
  expect(tools.map(({ name }) => name)).toEqual(["read_file", "search_files"]);
  const { isError, text } = await user.call("exec_command", { cmd: "true" });
  expect({ isError, text }).toEqual({
    isError: true,
    text: 'there is no tool "exec_command"; there are read_file, search_files',
  });
});

it("advises only about tools that there are, and starts only with some", async () => {
  const user = await scene.start({ args: ["--tools", "read_file"] });
  expect(user.client.getInstructions()).not.toMatch(/wait_for|read_output/);
  expect(await scene.person.run(["mcp", "--tools", ""])).toMatchObject({
    status: 2,
    stderr: expect.stringContaining("--tools needs names of tools"),
  });
});

it("says which part of long output can still be read", async () => {
  const user = await scene.start();
  const { structured } = await user.call("exec_command", {
    cmd: "head -c 3000000 /dev/zero | tr '\\0' x",
    login: false,
    max_output_tokens: 100,
  });
  const { session_id, output_offset } = structured as Record<string, number>;
  expect(output_offset).toBeGreaterThan(1_900_000);
  expect(structured["notes"]).toEqual([
    expect.stringMatching(
      new RegExp(`offset ${output_offset} returns .*; of the ${output_offset} bytes before that, nothing`),
    ),
  ]);
  const read = await user.call("read_output", { session_id, offset: output_offset });
  expect(read.structured).toMatchObject({ offset: output_offset });
});

it("corrects a model's mistakes", async () => {
  const user = await scene.start();
  writeFileSync(at("twice"), "a a");
  writeFileSync(at("binary"), Buffer.from([0xff, 0xfe, 0]));
  writeFileSync(at("large"), Buffer.alloc(9 * 1024 * 1024, 0x61));
  writeFileSync(at("large.png"), Buffer.concat([PNG, Buffer.alloc(5_000_000 - PNG.length)]));
  const mistakes = [
    ["exec_command", { command: "ls" }, 'exec_command: there is no argument "command"; it takes cmd, '],
    ["exec_command", { cmd: "ls", workdir: "none" }, "none"],
    ["write_stdin", { session_id: 7 }, "there is no session 7; no session is open"],
    ["kill_process", { session_id: 7 }, "there is no session 7"],
    ["read_output", {}, "read_output: session_id is missing"],
    ["wait_for", {}, "wait_for: name what to wait for"],
    ["wait_for", { pattern: "x", path: "twice" }, "pattern needs the session_id"],
    ["read_file", { path: "absent" }, "absent"],
    ["read_file", { path: "twice", offset: 5 }, "ends before line 5"],
    ["read_file", { path: "binary" }, "is not UTF-8 text; use exec_command"],
    ["edit_file", { path: "twice", old_string: "a", new_string: "b" }, "contains old_string 2 times"],
    ["edit_file", { path: "twice", old_string: "c", new_string: "b" }, "does not contain old_string"],
    ["exec_command", { argv: ["nope"] }, "exec_command: cannot run nope: No such file or directory"],
    ["write_file", { path: "/dev/shm/es", content: "x" }, "nothing is kept below /dev in a sandbox"],
    ["write_file", { path: "half", content: "\ud800" }, "half of a surrogate pair"],
    ["edit_file", { path: "twice", old_string: "a a", new_string: "\ud800" }, "half of a surrogate pair"],
    [
      "edit_file",
      { path: "large", old_string: "a", new_string: "b" },
      "use exec_command, for example with sed",
    ],
    ["read_file", { path: "large.png" }, "is an image of 5000000 bytes, and at most 4194304 are shown"],
    ["search_files", { pattern: "(" }, "search_files: "],
    ["list_directory", { path: "twice" }, "twice"],
  ] as const;
  for (const [name, args, said] of mistakes) {
    const { isError, text } = await user.call(name, args);
    expect({ name, args, isError, text }).toMatchObject({
      isError: true,
      text: expect.stringContaining(said),
    });
  }
});

it("keeps what looks like a secret from commands", async () => {
  const secrets = {
    PGPASSWORD: "s",
    DB_PASS: "s",
    CREDENTIALS: "s",
    SSH_PASSPHRASE: "s",
    GH_PAT: "s",
    NPM_AUTH: "s",
    COOKIE: "s",
    MY_TOKEN: "s",
    DATABASE_URL: "postgres://user:s@host/db",
  };
  const others = { MY_PATH: "p", MY_COMPASS: "c", MY_URL: "https://host/a:b@c" };
  const user = await scene.start({ env: { ...secrets, ...others } });
  const { structured } = await user.call("exec_command", { argv: ["env"] });
  const names = String(structured["output"])
    .split("\n")
    .map((line) => line.split("=", 1)[0] ?? "");
  expect(names.filter((name) => name in secrets)).toEqual([]);
  expect(Object.keys(others).filter((name) => !names.includes(name))).toEqual([]);
  expect(names).toContain("PWD");
});
