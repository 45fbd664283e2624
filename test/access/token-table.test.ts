import { createHash } from "node:crypto";
import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { connect } from "../../src/client/host/connect.ts";
import type { Host } from "../../src/client/host/host.ts";
import { type ListeningServer, serve, type ServeOptions } from "../../src/server/index.ts";
import { pollUntil, withDeadline } from "../fault/deadline.ts";
import { openSocket } from "./raw-client.ts";

const DEADLINE_MS = 60_000;
const CREDENTIAL_ENDED = 4011;

let directory: string;
let path: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "tokens-"));
  path = join(directory, "tokens.toml");
});

afterEach(async () => {
  await rm(directory, { recursive: true });
});

const sha256 = (token: string): string => createHash("sha256").update(token).digest("hex");

/** An entry of the table; its tokens are their own names. */
function entry(name: string, rest = 'preset = "full"', tokens: readonly string[] = [name]): string {
  return `[[token]]\nname = "${name}"\nsha256 = ${JSON.stringify(tokens.map(sha256))}\n${rest}\n\n`;
}

/** Replaces the table as editors do. */
async function write(...entries: readonly string[]): Promise<void> {
  await writeFile(`${path}.new`, entries.join(""));
  await rename(`${path}.new`, path);
}

const open = (options: ServeOptions = {}): Promise<ListeningServer> =>
  serve({
    environment: { PATH: process.env["PATH"] },
    authentication: { mode: "token-table", path },
    ...options,
  });

const inTime = <T>(promise: Promise<T>, what: string): Promise<T> =>
  withDeadline(promise, DEADLINE_MS, () => what);

async function codeOf(promise: Promise<unknown>): Promise<string | undefined> {
  return promise.then(
    () => undefined,
    (error: { code?: string }) => error.code,
  );
}

/** Connects and leaves; undefined if it was admitted, or the code of the error. */
async function login(server: ListeningServer, token: string): Promise<string | undefined> {
  return codeOf(connect(server.url, { token }).then((host) => host.close()));
}

it("a withdrawn token ends its connections within seconds, and others notice nothing", async () => {
  await write(entry("ann"), entry("bob"));
  await using server = await open();
  await using ann = await openSocket(server.url, "ann");
  await using bob = await openSocket(server.url, "bob");
  await write(entry("bob"));
  expect(await inTime(ann.closed, "the end of the connection")).toBe(CREDENTIAL_ENDED);
  expect(await login(server, "ann")).toBe("UNAUTHORIZED");
  expect((await bob.call("environment/status", {})).error).toBeUndefined();
});

it("changed rights end the connections of a token, and apply to the next one", async () => {
  await write(entry("ann"));
  await using server = await open();
  await using before = await openSocket(server.url, "ann");
  await write(entry("ann", 'preset = "observe"'));
  expect(await inTime(before.closed, "the end of the connection")).toBe(CREDENTIAL_ENDED);
  await using after = await openSocket(server.url, "ann");
  const { error } = await after.call("fs/readFile", { path: "file:///etc/passwd" });
  expect(error).toMatchObject({ code: -32600, data: { code: "PERMISSION_DENIED" } });
});

it("a token that expires ends its connections, and admits no clients", async () => {
  // Long enough to connect, whatever the machine does.
  const expires = new Date(Date.now() + 6_000).toISOString();
  await write(entry("ann", `preset = "full"\nexpires = ${expires}`));
  await using server = await open();
  await using ann = await openSocket(server.url, "ann");
  expect(await inTime(ann.closed, "the end of the connection")).toBe(CREDENTIAL_ENDED);
  expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(expires));
  expect(await login(server, "ann")).toBe("UNAUTHORIZED");
});

it("a token is exchanged for another one without a refused client, and the session continues", async () => {
  await write(entry("ann", undefined, ["old"]));
  await using server = await open();
  const first = await connect(server.url, { token: "old" });
  const { sessionId } = first;
  await write(entry("ann", undefined, ["old", "new"]));
  await pollUntil(
    async () => (await login(server, "new")) === undefined,
    DEADLINE_MS,
    () => "the new token",
  );
  expect(await login(server, "old")).toBeUndefined();
  // The one with the old token is still connected.
  expect(await first.request("environment/status", {})).toEqual({ status: "ready" });
  await first.start(["sleep", "60"], { processId: "p" });
  await first.detach();
  await write(entry("ann", undefined, ["new"]));
  await using second = await connect(server.url, { token: "new", resumeSessionId: sessionId });
  expect(await second.request("process/terminate", { processId: "p" })).toEqual({ running: true });
  await pollUntil(
    async () => (await login(server, "old")) !== undefined,
    DEADLINE_MS,
    () => "the old token",
  );
});

it("a table that is changed under load neither refuses nor admits the wrong ones", async () => {
  const constant = entry("ann");
  const tables = [
    [constant, entry("bob", 'preset = "observe"')],
    [constant, entry("carl"), entry("bob", 'preset = "observe"')],
    [entry("dora"), constant],
  ];
  await write(...tables[0]!);
  await using server = await open();
  await using steady = await openSocket(server.url, "ann");
  const load = { isOn: true };
  const wrong: string[] = [];
  let attempts = 0;
  const hammer = async (): Promise<void> => {
    while (load.isOn) {
      attempts += 1;
      const [ann, eve] = await Promise.all([login(server, "ann"), login(server, `eve`)]);
      if (ann !== undefined) wrong.push(`ann: ${ann}`);
      if (eve !== "UNAUTHORIZED") wrong.push(`eve: ${eve}`);
      const { error } = await steady.call("environment/status", {});
      if (error !== undefined) wrong.push(error.message);
    }
  };
  const hammers = [hammer(), hammer()];
  for (let round = 0; round < 50; round += 1) {
    // Some are broken, and one is only half written.
    if (round % 7 === 3) await writeFile(path, `${constant}[[token]]\nname = `);
    else if (round % 7 === 5) await writeFile(path, "");
    else await write(...tables[round % tables.length]!);
    await new Promise((resolve) => setTimeout(resolve, 40));
  }
  await write(...tables[2]!);
  await pollUntil(
    async () => (await login(server, "dora")) === undefined,
    DEADLINE_MS,
    () => "the last table",
  );
  load.isOn = false;
  await Promise.all(hammers);
  expect(wrong).toEqual([]);
  expect(attempts).toBeGreaterThan(3);
  expect(await login(server, "carl")).toBe("UNAUTHORIZED");
});

it("a broken table keeps the one before in force, and is logged once", async () => {
  const errors: string[] = [];
  const logger = {
    error: (message: string, fields?: object) => errors.push(`${message} ${JSON.stringify(fields)}`),
    warn: () => {},
    info: () => {},
    debug: () => {},
  };
  await write(entry("ann"));
  await using server = await open({ logger });
  await write(entry("bob", 'preset = "ful"'));
  await pollUntil(
    () => errors.length > 0,
    DEADLINE_MS,
    () => "the error",
  );
  expect(errors[0]).toContain(`${path}:4: preset must be one of full, sandboxed, files, observe`);
  expect(await login(server, "ann")).toBeUndefined();
  expect(await login(server, "bob")).toBe("UNAUTHORIZED");
  await write(entry("bob"));
  await pollUntil(
    async () => (await login(server, "bob")) === undefined,
    DEADLINE_MS,
    () => "the next table",
  );
  expect(errors).toHaveLength(1);
});

it.each(["", "# everything is withdrawn\n"])(
  "a table that becomes %j withdraws every token",
  async (text) => {
    await write(entry("ann"));
    await using server = await open();
    await using ann = await connect(server.url, { token: "ann", recoveryTimeoutMs: 0 });
    await writeFile(path, text);
    await withDeadline(ann.closed, DEADLINE_MS, () => "the end of the connection");
    expect(await login(server, "ann")).toBe("UNAUTHORIZED");
  },
);

it.each([
  ["", "1: there is no [[token]]"],
  ["token = 1", "1: token must be a table"],
  ["tokens = 1", "1: tokens is not a known key"],
  [entry("a b"), "2: name must have"],
  [entry("a", 'preset = "full"\nrank = 1'), "5: rank is not a known key"],
  [entry("a", 'preset = "full"\nexpires = 2030-01-01'), "5: expires must be a date and time with its zone"],
  [entry("a", 'preset = "full"', ["1", "2", "3"]), "3: sha256 must be one or 2"],
  [entry("a") + entry("a", 'preset = "full"', ["b"]), "6: the name a is used twice"],
  [entry("a") + entry("b", 'preset = "full"', ["a"]), "6: a sha256 of b is used twice"],
  [entry("a", 'preset = "sandboxed"'), "1: the preset sandboxed needs a policy"],
  [entry("a", 'preset = "sandboxed"\npolicy = { write = ["/"] }'), "1: policy makes everything writable"],
  [entry("a", 'preset = "files"'), "1: the preset files needs roots"],
  [entry("a", 'preset = "files"\nroots = ["/"]'), "contains the server's own file"],
  [entry("a", 'preset = "files"\nroots = ["/nowhere"]'), "/nowhere"],
  [entry("a", 'preset = "observe"\ncontrol = ["b"]'), "1: control is not for the preset observe"],
  [
    entry("a", 'preset = "full"\nlimits = { max_message_bytes = 5000 }'),
    "max_message_bytes is not one of the limits",
  ],
])("the table %j is refused at the start", async (text, message) => {
  await writeFile(path, text);
  await expect(open()).rejects.toThrow(message);
});

it("kept processes of others are seen and controlled by a grant only, also if names are the same", async () => {
  await write(
    entry("ann"),
    entry("bob"),
    entry("watch", 'preset = "observe"\nsee = ["ann"]'),
    entry("boss", 'preset = "full"\ncontrol = ["*"]'),
  );
  await using server = await open();
  const as = (token: string): Promise<Host> => connect(server.url, { token });
  await using ann = await as("ann");
  await using bob = await as("bob");
  await ann.start(["cat"], { keep: "web", stdin: "pipe" });
  await bob.start(["cat"], { keep: "web", stdin: "pipe" });
  await bob.start(["cat"], { keep: "db", stdin: "pipe" });
  await using watcher = await as("watch");
  const seen = await watcher.processes({ scope: "kept" });
  expect(seen.map(({ name, owner }) => [owner, name])).toEqual([["name:ann", "web"]]);
  const attach = (host: Host, params: object) => host.request("process/attach", params);
  expect(await attach(watcher, { name: "web", as: "1" })).toMatchObject({ owner: "name:ann" });
  expect(await codeOf(attach(watcher, { name: "web", as: "2", mode: "control" }))).toBe("PERMISSION_DENIED");
  expect(await codeOf(attach(watcher, { name: "web", as: "3", owner: "bob" }))).toBe("NOT_FOUND");
  expect(await codeOf(attach(watcher, { name: "db", as: "4" }))).toBe("NOT_FOUND");
  expect(
    await codeOf(watcher.request("process/write", { processId: "1", chunk: "eA==", writeId: "1" })),
  ).toBe("PERMISSION_DENIED");
  await using boss = await as("boss");
  expect(await codeOf(attach(boss, { name: "web", as: "1" }))).toBe("INVALID_INPUT");
  expect(await attach(boss, { name: "web", owner: "bob", as: "1", mode: "control" })).toMatchObject({
    owner: "name:bob",
  });
  expect(await boss.request("process/terminate", { processId: "1" })).toEqual({ running: true });
  // Its own come first.
  expect(await codeOf(attach(bob, { name: "web", owner: "ann", as: "1" }))).toBe("NOT_FOUND");
});

it("the library attaches to a kept process of another owner, and says whose it is", async () => {
  await write(entry("ann"), entry("bob"), entry("boss", 'preset = "full"\ncontrol = ["*"]'));
  await using server = await open();
  for (const token of ["ann", "bob"]) {
    await using host = await connect(server.url, { token });
    const process = await host.start(["sh", "-c", `echo ${token}; cat`], { keep: "web", stdin: "pipe" });
    expect(process.owner).toBeUndefined();
  }
  await using boss = await connect(server.url, { token: "boss" });
  expect((await boss.processes({ scope: "kept" })).map(({ owner }) => owner)).toEqual([
    "name:ann",
    "name:bob",
  ]);
  expect(await codeOf(boss.attachKept("web"))).toBe("INVALID_INPUT");
  expect(await codeOf(boss.attachKept("web", { owner: "nobody" }))).toBe("NOT_FOUND");
  for (const owner of ["bob", "name:ann"]) {
    const process = await boss.attachKept("web", { owner, mode: "control" });
    expect(process.owner).toBe(owner.startsWith("name:") ? owner : `name:${owner}`);
    await process.closeStdin();
    expect((await inTime(process.exited, "the end")).exitCode).toBe(0);
    const lines: string[] = [];
    for await (const line of process.lines()) lines.push(line);
    expect(lines).toEqual([owner.replace("name:", "")]);
  }
});

it("/metrics is for the presets full and observe only", async () => {
  await write(
    entry("ann"),
    entry("watch", 'preset = "observe"'),
    entry("box", `preset = "sandboxed"\npolicy = "read-only"`),
    entry("files", `preset = "files"\nroots = ["/usr"]`),
  );
  await using server = await open({ metrics: true });
  const page = server.url.replace("ws:", "http:").replace(/\/?$/, "/metrics");
  const statusFor = async (token: string): Promise<number> =>
    (await fetch(page, { headers: { authorization: `Bearer ${token}` } })).status;
  expect(await Promise.all(["ann", "watch", "box", "files", "nobody"].map(statusFor))).toEqual([
    200, 200, 403, 403, 401,
  ]);
});

it("a token does not get at what was started with other rights of the same name", async () => {
  await write(entry("ann"));
  await using server = await open();
  const full = await connect(server.url, { token: "ann" });
  const { sessionId } = full;
  await full.start(["cat"], { keep: "shell", stdin: "pipe" });
  await full.detach();
  await using witness = await openSocket(server.url, "ann");
  await write(entry("ann", 'preset = "sandboxed"\npolicy = "read-only"'));
  expect(await inTime(witness.closed, "the new rights")).toBe(CREDENTIAL_ENDED);
  await using narrow = await connect(server.url, { token: "ann" });
  expect(await narrow.processes({ scope: "kept" })).toEqual([]);
  expect(await codeOf(narrow.attachKept("shell", { mode: "control" }))).toBe("NOT_FOUND");
  expect(await codeOf(connect(server.url, { token: "ann", resumeSessionId: sessionId }))).toBe("NOT_FOUND");
});

it("a grant over a narrowed token controls nothing that the token started before", async () => {
  const narrow = 'preset = "sandboxed"\npolicy = "read-only"';
  await write(entry("ann"), entry("helper", `${narrow}\ncontrol = ["ann"]`));
  await using server = await open();
  const full = await connect(server.url, { token: "ann" });
  await full.start(["sh"], { keep: "shell", stdin: "pipe" });
  await (await full.start(["true"], { keep: "done" })).exited;
  await full.detach();
  await using witness = await openSocket(server.url, "ann");
  await write(entry("ann", narrow), entry("helper", `${narrow}\ncontrol = ["ann"]`));
  expect(await inTime(witness.closed, "the new rights")).toBe(CREDENTIAL_ENDED);
  await using helper = await connect(server.url, { token: "helper" });
  await expect(helper.attachKept("shell", { mode: "control" })).rejects.toMatchObject({
    code: "PERMISSION_DENIED",
    message: expect.stringContaining("started with rights that this client does not have"),
  });
  await helper.request("process/attach", { name: "shell", as: "1" });
  const input = { processId: "1", chunk: "eA==", writeId: "1" };
  expect(await helper.request("process/write", input)).toEqual({ status: "unknownProcess" });
  await using ann = await connect(server.url, { token: "ann" });
  for (const keep of ["shell", { name: "done", replace: true }])
    await expect(ann.start(["cat"], { keep })).rejects.toMatchObject({
      code: "ALREADY_EXISTS",
      message: expect.stringContaining("started with other rights"),
    });
  await ann.start(["cat"], { keep: "other", stdin: "pipe" });
  const controlled = await helper.attachKept("other", { mode: "control" });
  await controlled.closeStdin();
  expect((await inTime(controlled.exited, "the end")).exitCode).toBe(0);
});

it("a token has its own limits", async () => {
  const limits = "limits = { max_connections = 2, max_processes = 1, max_kept_processes = 1 }";
  await write(entry("ann", `preset = "full"\n${limits}`), entry("bob"));
  await using server = await open();
  await using ann = await connect(server.url, { token: "ann" });
  await using second = await connect(server.url, { token: "ann" });
  await expect(openSocket(server.url, "ann")).rejects.toThrow("503");
  await ann.start(["sleep", "60"]);
  expect(await codeOf(second.start(["sleep", "60"]))).toBe("LIMIT_REACHED");
  expect(await codeOf(second.start(["sleep", "60"], { keep: "k" }))).toBe("LIMIT_REACHED");
  await using bob = await connect(server.url, { token: "bob" });
  await bob.start(["sleep", "60"]);
});
