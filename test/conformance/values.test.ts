import { mkdir, mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import type { RawPeer } from "./raw-peer.ts";
import { base64, expectError, start, verifies } from "./verifies.ts";

let count = 0;

/** Starts a process with this cwd, which is where every path URI can be tried. */
async function startIn(peer: RawPeer, cwd: unknown): Promise<string> {
  const processId = `p${++count}`;
  await peer.request("process/start", start(processId, ["/bin/pwd", "-P"], { cwd }));
  return processId;
}

/** The directory a cwd leads to. */
async function directoryOf(peer: RawPeer, cwd: string): Promise<string> {
  const processId = await startIn(peer, cwd);
  await peer.nextNotification("process/closed", processId);
  const { chunks } = await peer.request("process/read", { processId });
  const bytes = chunks.map(({ chunk }: { chunk: string }) => Buffer.from(chunk, "base64"));
  return Buffer.concat(bytes).toString("latin1").replace(/\n$/, "");
}

const notHere = (uri: string) =>
  `cwd URI \`${uri}\` is not valid on this exec-server host: '${uri}' is invalid on 'linux'`;

verifies("path:relative", async ({ peer }) => {
  const connection = await peer();
  for (const cwd of ["tmp", "", ".", "./tmp", "../tmp", " /tmp"]) {
    await expectError(startIn(connection, cwd), -32602, "invalid URI: relative URL without a base");
  }
});

verifies("path:scheme", async ({ peer }) => {
  const connection = await peer();
  for (const [cwd, scheme] of [
    ["http://x/y", "http"],
    ["HTTPS://x", "https"],
    ["files:///tmp", "files"],
  ]) {
    await expectError(startIn(connection, cwd), -32602, `unsupported path URI scheme \`${scheme}\``);
  }
});

verifies("path:query", async ({ peer }) => {
  const connection = await peer();
  for (const cwd of ["file:///tmp?x=1", "file:///tmp?", "file:///?"]) {
    await expectError(startIn(connection, cwd), -32602, "query parameters are not allowed in path URIs");
  }
});

verifies("path:fragment", async ({ peer }) => {
  const connection = await peer();
  for (const cwd of ["file:///tmp#x", "file:///tmp#"]) {
    await expectError(startIn(connection, cwd), -32602, "fragments are not allowed in path URIs");
  }
});

verifies("path:nul", async ({ peer }) => {
  const connection = await peer();
  await expectError(startIn(connection, "file:///a%00b"), -32602, "'file:///a%00b' is invalid on 'linux'");
});

verifies("path:host", async ({ peer }) => {
  const connection = await peer();
  await expectError(startIn(connection, "file://host/f"), -32602, notHere("file://host/f"));
  await expectError(startIn(connection, "file://127.0.0.1/tmp"), -32602, notHere("file://127.0.0.1/tmp"));
  await expectError(startIn(connection, "file://host"), -32602, notHere("file://host/"));
});

verifies("path:host-syntax", async ({ peer }) => {
  const connection = await peer();
  await expectError(startIn(connection, "file://user@localhost/tmp"), -32602, /^invalid URI: /);
  await expectError(startIn(connection, "file://localhost:80/tmp"), -32602, /^invalid URI: /);
});

verifies("path:drive", async ({ peer }) => {
  const connection = await peer();
  await expectError(startIn(connection, "file:///C:/x"), -32602, notHere("file:///C:/x"));
  await expectError(startIn(connection, "file:///C%3A/x"), -32602, notHere("file:///C%3A/x"));
  await expectError(startIn(connection, "file:///z:"), -32602, /is invalid on 'linux'$/);
});

verifies("path:type", async ({ peer }) => {
  const connection = await peer();
  await expectError(startIn(connection, 5), -32602, "invalid type: number, expected a string");
  await expectError(startIn(connection, null), -32602, "invalid type: null, expected a string");
});

verifies("path:localhost", async ({ peer }) => {
  const connection = await peer();
  expect(await directoryOf(connection, "file://localhost/usr")).toBe("/usr");
  expect(await directoryOf(connection, "file://LOCALHOST/usr")).toBe("/usr");
});

verifies("path:scheme-case", async ({ peer }) => {
  expect(await directoryOf(await peer(), "FILE:///usr")).toBe("/usr");
});

verifies("path:short", async ({ peer }) => {
  const connection = await peer();
  expect(await directoryOf(connection, "file:usr")).toBe("/usr");
  expect(await directoryOf(connection, "file:/usr")).toBe("/usr");
  expect(await directoryOf(connection, "file:")).toBe("/");
  expect(await directoryOf(connection, "file://")).toBe("/");
});

verifies("path:dot-segments", async ({ peer }) => {
  const connection = await peer();
  expect(await directoryOf(connection, "file:///tmp/../usr/./bin")).toBe("/usr/bin");
  expect(await directoryOf(connection, "file:///no-such-directory/%2e%2E/usr")).toBe("/usr");
  expect(await directoryOf(connection, "file:///../../usr/bin/..")).toBe("/usr");
});

verifies("path:escaped-slash", async ({ peer }) => {
  expect(await directoryOf(await peer(), "file:///usr%2Fbin")).toBe("/usr/bin");
});

verifies("path:escapes", async ({ peer }) => {
  expect(await directoryOf(await peer(), "file:///us%72/%62in")).toBe("/usr/bin");
});

verifies("path:slashes", async ({ peer }) => {
  const connection = await peer();
  for (const cwd of ["file:///usr/bin/", "file:///usr//bin", "file:////usr/bin"]) {
    expect(await directoryOf(connection, cwd), cwd).toBe("/usr/bin");
  }
});

verifies("path:raw-characters", async ({ peer }) => {
  const connection = await peer();
  await withDirectory(Buffer.from("sp ace é [x]"), async (parent, latin1) => {
    expect(await directoryOf(connection, `file://${parent}/sp ace é [x]`)).toBe(latin1);
    expect(await directoryOf(connection, `file://${parent}/sp%20ace%20%C3%A9%20%5Bx%5D`)).toBe(latin1);
  });
  await withDirectory(Buffer.from("h#q?p%"), async (parent, latin1) => {
    expect(await directoryOf(connection, `file://${parent}/h%23q%3Fp%25`)).toBe(latin1);
  });
});

verifies("path:surrounding-space", async ({ peer }) => {
  expect(await directoryOf(await peer(), " \tfile:///usr\n ")).toBe("/usr");
});

verifies("path:not-utf8", async ({ peer }) => {
  const connection = await peer();
  await withDirectory(Buffer.from([0x61, 0xff, 0xfe]), async (parent, latin1) => {
    expect(await directoryOf(connection, `file://${parent}/a%FF%fe`)).toBe(latin1);
  });
});

verifies("path:bad-escape", async ({ peer }) => {
  const connection = await peer();
  await withDirectory(Buffer.from("50% off%zz"), async (parent, latin1) => {
    expect(await directoryOf(connection, `file://${parent}/50% off%zz`)).toBe(latin1);
  });
});

/** Makes a directory of this name; the body gets its parent, and its whole path one byte per character. */
async function withDirectory(
  name: Buffer,
  body: (parent: string, path: string) => Promise<void>,
): Promise<void> {
  const parent = await realpath(await mkdtemp(join(tmpdir(), "conformance-path-")));
  try {
    const path = Buffer.concat([Buffer.from(`${parent}/`), name]);
    await mkdir(path);
    await body(parent, path.toString("latin1"));
  } finally {
    await rm(parent, { recursive: true, force: true });
  }
}

/** Writes these bytes to a process; base64 is checked before the process is looked for. */
async function writeChunk(peer: RawPeer, chunk: unknown): Promise<unknown> {
  return peer.request("process/write", { processId: "none", chunk, writeId: `w${++count}` });
}

verifies("base64:accepted", async ({ peer }) => {
  const connection = await peer();
  for (const chunk of ["", "YQ==", "aGk=", "aGkh", "+/+/"]) {
    expect(await writeChunk(connection, chunk), chunk).toEqual({ status: "unknownProcess" });
  }
});

verifies("base64:padding", async ({ peer }) => {
  const connection = await peer();
  for (const chunk of ["aGk", "YQ", "YQ=", "aGkhYQ"]) {
    await expectError(writeChunk(connection, chunk), -32602, "Invalid padding");
  }
});

verifies("base64:excess-padding", async ({ peer }) => {
  const connection = await peer();
  await expectError(writeChunk(connection, "aGk=="), -32602, "Invalid symbol 61, offset 3.");
  await expectError(writeChunk(connection, "aGk=aGk="), -32602, "Invalid symbol 61, offset 3.");
  await expectError(writeChunk(connection, "===="), -32602, "Invalid symbol 61, offset 0.");
  await expectError(writeChunk(connection, "aGkh="), -32602, "Invalid symbol 61, offset 4.");
});

verifies("base64:symbol", async ({ peer }) => {
  const connection = await peer();
  await expectError(writeChunk(connection, "*Gk="), -32602, "Invalid symbol 42, offset 0.");
  await expectError(writeChunk(connection, "aG*h"), -32602, "Invalid symbol 42, offset 2.");
  await expectError(writeChunk(connection, "é==="), -32602, "Invalid symbol 195, offset 0.");
});

verifies("base64:url-alphabet", async ({ peer }) => {
  const connection = await peer();
  await expectError(writeChunk(connection, "-_=="), -32602, "Invalid symbol 45, offset 0.");
  await expectError(writeChunk(connection, "aaa_"), -32602, "Invalid symbol 95, offset 3.");
});

verifies("base64:white-space", async ({ peer }) => {
  const connection = await peer();
  await expectError(writeChunk(connection, "aG k"), -32602, "Invalid symbol 32, offset 2.");
  await expectError(writeChunk(connection, "aGk=\n"), -32602, "Invalid symbol 10, offset 4.");
});

verifies("base64:last-symbol", async ({ peer }) => {
  const connection = await peer();
  await expectError(writeChunk(connection, "aGl="), -32602, "Invalid last symbol 108, offset 2.");
  await expectError(writeChunk(connection, "YR=="), -32602, "Invalid last symbol 82, offset 1.");
});

verifies("base64:length", async ({ peer }) => {
  await expectError(writeChunk(await peer(), "a"), -32602, "Invalid input length: 1");
});

verifies("base64:type", async ({ peer }) => {
  const connection = await peer();
  await expectError(writeChunk(connection, 5), -32602, "invalid type: number, expected a string");
  await expectError(writeChunk(connection, null), -32602, "invalid type: null, expected a string");
});

verifies("base64:all-bytes", async ({ peer }) => {
  const connection = await peer();
  const bytes = Buffer.from(Array.from({ length: 256 }, (_, value) => value));
  await connection.request("process/start", start("cat", ["cat"], { pipeStdin: true }));
  await connection.request("process/write", { processId: "cat", chunk: base64(bytes), writeId: "1" });
  const { params } = await connection.nextNotification("process/output", "cat");
  expect(params.chunk).toBe(base64(bytes));
});

/** Reads a process with one member spelled as given, which JSON.stringify could not write. */
async function readWith(peer: RawPeer, member: string, spelled: string) {
  const id = `n${++count}`;
  const answer = peer.next((message) => message.id === id);
  peer.sendText(`{"id":"${id}","method":"process/read","params":{"processId":"p","${member}":${spelled}}}`);
  const { error, result } = await answer;
  return error === undefined ? { nextSeq: result.nextSeq } : { code: error.code, message: error.message };
}

verifies("number:negative", async ({ peer }) => {
  const connection = await peer();
  for (const member of ["afterSeq", "maxBytes", "waitMs"]) {
    expect(await readWith(connection, member, "-1")).toEqual({ code: -32602, message: "invalid number" });
  }
});

verifies("number:fraction", async ({ peer }) => {
  const connection = await peer();
  for (const member of ["afterSeq", "maxBytes", "waitMs"]) {
    expect(await readWith(connection, member, "1.5")).toEqual({ code: -32602, message: "invalid number" });
  }
});

verifies("number:range", async ({ peer }) => {
  const connection = await peer();
  await connection.request("process/start", start("p", ["sleep", "60"]));
  for (const member of ["afterSeq", "maxBytes"]) {
    expect(await readWith(connection, member, "18446744073709551615")).toEqual({ nextSeq: 1 });
    expect(await readWith(connection, member, "9007199254740993")).toEqual({ nextSeq: 1 });
    for (const huge of ["99999999999999999999999999", "1e400"]) {
      expect(await readWith(connection, member, huge)).toMatchObject({ code: -32602 });
    }
  }
});

verifies("number:type", async ({ peer }) => {
  const connection = await peer();
  expect(await readWith(connection, "afterSeq", '"1"')).toEqual({
    code: -32602,
    message: expect.stringMatching(/^invalid type: string "1", expected /),
  });
  expect(await readWith(connection, "maxBytes", "true")).toMatchObject({ code: -32602 });
  expect(await readWith(connection, "waitMs", "[]")).toMatchObject({ code: -32602 });
});

verifies("number:null", async ({ peer }) => {
  const connection = await peer();
  await connection.request("process/start", start("p", ["sleep", "60"]));
  for (const member of ["afterSeq", "maxBytes", "waitMs"]) {
    expect(await readWith(connection, member, "null")).toEqual({ nextSeq: 1 });
  }
});
