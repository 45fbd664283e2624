import { createHash, randomBytes } from "node:crypto";
import { existsSync, readFileSync, statSync } from "node:fs";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findCodexBinary } from "../../scripts/install-codex.mjs";
import { createFetch } from "../../src/client/http/fetch.ts";
import { FileError } from "../../src/client/files/file-error.ts";
import { Files } from "../../src/client/files/files.ts";
import { createServer } from "../../src/server/index.ts";
import { createMemoryPair } from "../../src/transport/memory.ts";
import { connectWebSocket } from "../../src/transport/websocket/connect-websocket.ts";
import {
  type Answer,
  CHUNKED_HEAD,
  chunk,
  head,
  HttpUpstream,
  LAST_CHUNK,
  pathOf,
  response,
  type UpstreamRequest,
  withUpstream,
} from "../conformance/http-upstream.ts";
import { launch } from "../conformance/server-process.ts";
import { openWireCaller, type WireCaller } from "./wire-caller.ts";

interface Target {
  readonly caller: WireCaller;
  stop(): Promise<void>;
}

const targets: Record<string, () => Promise<Target>> = {
  "our server, in memory": async () => {
    const server = createServer();
    const [near, far] = createMemoryPair();
    server.accept(far);
    const caller = await openWireCaller(near);
    return { caller, stop: () => server.close() };
  },
};
if (findCodexBinary() !== undefined) {
  targets["the real server, over ws"] = async () => {
    const server = await launch("codex", ["--listen", "ws://127.0.0.1:0"]);
    try {
      const caller = await openWireCaller(await connectWebSocket(await server.banner()));
      const stop = async (): Promise<void> => {
        caller.close();
        await server.stop();
      };
      return { caller, stop };
    } catch (error) {
      await server.stop("SIGKILL");
      throw error;
    }
  };
}

const MIB = 1024 * 1024;

describe.each(Object.entries(targets))("%s", (server, start) => {
  let target: Target;
  let root: string;
  let files: Files;
  let remoteFetch: typeof fetch;
  const at = (name: string): string => join(root, name);

  beforeAll(async () => {
    target = await start();
    files = new Files(target.caller);
    remoteFetch = createFetch(target.caller, target.caller.bodies);
    root = await mkdtemp(join(tmpdir(), "client-files-"));
  });

  afterAll(async () => {
    await target.stop();
    await rm(root, { recursive: true, force: true });
  });

  describe("files", () => {
    it("text and bytes are read back as they were written, under any name", async () => {
      for (const name of ["plain.txt", "sp ace #%?é\\.txt", "[a]^|`{}.txt"]) {
        await files.write(at(name), "grüße\n");
        expect(readFileSync(at(name), "utf8")).toBe("grüße\n");
        expect(await files.readText(at(name))).toBe("grüße\n");
      }
      const bytes = randomBytes(100_000);
      await files.write(at("bytes"), bytes);
      expect(Buffer.compare(readFileSync(at("bytes")), bytes)).toBe(0);
      expect(Buffer.compare(await files.read(at("bytes")), bytes)).toBe(0);
      await files.write(at("empty"), "");
      expect((await files.read(at("empty"))).length).toBe(0);
    });

    it("a file of /proc, whose size says nothing, is read", async () => {
      expect(await files.readText("/proc/version")).toBe(readFileSync("/proc/version", "utf8"));
    });

    it("a missing file is NOT_FOUND, with the path and the wire's number", async () => {
      const failure = await files.read(at("missing")).catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(FileError);
      expect(failure).toMatchObject({
        code: "NOT_FOUND",
        errno: "ENOENT",
        rpcCode: -32004,
        path: at("missing"),
        message: `read ${at("missing")}: No such file or directory (os error 2)`,
      });
      await expect(files.readStream(at("missing")).next()).rejects.toMatchObject({ code: "NOT_FOUND" });
      await expect(files.write(at("missing/x"), "")).rejects.toMatchObject({ code: "NOT_FOUND" });
    });

    it("what the system forbids is PERMISSION_DENIED", async () => {
      // Not even root may write it.
      await expect(files.write("/proc/sys/kernel/ostype", "x")).rejects.toMatchObject({
        code: "PERMISSION_DENIED",
        errno: "EACCES",
        rpcCode: -32600,
      });
    });

    it("other refusals of the system have its error's name", async () => {
      await mkdir(at("full/inner"), { recursive: true });
      await writeFile(at("file"), "");
      const os = (errno: string) => ({ code: "OS_ERROR", errno, rpcCode: -32603 });
      await expect(files.mkdir(at("full"), { recursive: false })).rejects.toMatchObject(os("EEXIST"));
      await expect(files.remove(at("full"))).rejects.toMatchObject(os("ENOTEMPTY"));
      await expect(files.list(at("file"))).rejects.toMatchObject(os("ENOTDIR"));
      await expect(files.write(at("full"), "")).rejects.toMatchObject(os("EISDIR"));
      await expect(files.read(at("full"))).rejects.toMatchObject({
        code: "INVALID_INPUT",
        errno: undefined,
        rpcCode: -32600,
      });
    });

    it("a directory is listed by name with the kind of each entry", async () => {
      await mkdir(at("list/b-directory"), { recursive: true });
      await writeFile(at("list/.hidden"), "");
      await writeFile(at("list/a"), "");
      await symlink("b-directory", at("list/link"));
      await symlink("/dev/null", at("list/null"));
      await symlink("nowhere", at("list/broken"));
      expect(await files.list(at("list"))).toEqual([
        { name: ".hidden", kind: "file" },
        { name: "a", kind: "file" },
        { name: "b-directory", kind: "directory" },
        { name: "link", kind: "directory" },
        { name: "null", kind: "other" },
      ]);
    });

    it("stat returns kind, size, time and whether the path is a link", async () => {
      await writeFile(at("stat"), "12345");
      await symlink("stat", at("stat-link"));
      const { mtimeMs } = statSync(at("stat"));
      const stats = await files.stat(at("stat-link"));
      expect(stats).toMatchObject({ kind: "file", size: 5, isSymlink: true });
      expect(stats.modified.getTime()).toBe(Math.floor(mtimeMs));
      expect(await files.stat(root)).toMatchObject({ kind: "directory", isSymlink: false });
      expect(await files.stat("/dev/null")).toMatchObject({ kind: "other" });
    });

    it("exists is false for what is missing, also below a file and behind a broken link", async () => {
      await writeFile(at("there"), "");
      await symlink("nowhere", at("broken"));
      expect(await files.exists(at("there"))).toBe(true);
      expect(await files.exists(root)).toBe(true);
      expect(await files.exists(at("not-there"))).toBe(false);
      expect(await files.exists(at("there/below"))).toBe(false);
      expect(await files.exists(at("broken"))).toBe(false);
    });

    it("directories are made with their parents, copied and removed with what is in them", async () => {
      await files.mkdir(at("tree/one/two"));
      await files.mkdir(at("tree/one/two"));
      await files.write(at("tree/one/file"), "x");
      await expect(files.copy(at("tree"), at("copy"))).rejects.toMatchObject({ code: "INVALID_INPUT" });
      await files.copy(at("tree"), at("copy"), { recursive: true });
      expect(readFileSync(at("copy/one/file"), "utf8")).toBe("x");
      await files.copy(at("copy/one/file"), at("copy/other"));
      expect(readFileSync(at("copy/other"), "utf8")).toBe("x");
      await files.remove(at("copy"), { recursive: true });
      expect(existsSync(at("copy"))).toBe(false);
      await expect(files.remove(at("copy"))).rejects.toMatchObject({ code: "NOT_FOUND" });
      await files.remove(at("copy"), { force: true });
      await expect(files.mkdir(at("a/b"), { recursive: false })).rejects.toMatchObject({ code: "NOT_FOUND" });
    });

    it("realpath resolves links", async () => {
      await mkdir(at("real"));
      await symlink("real", at("alias"));
      expect(await files.realpath(at("alias"))).toBe(await files.realpath(at("real")));
      await expect(files.realpath(at("nothing"))).rejects.toMatchObject({ code: "NOT_FOUND" });
    });

    it("a walk lists plain paths level by level", async () => {
      await mkdir(at("walk/sub dir/.git"), { recursive: true });
      await writeFile(at("walk/b"), "");
      await writeFile(at("walk/sub dir/c"), "");
      await writeFile(at("walk/sub dir/.git/config"), "");
      expect(await files.walk(at("walk"), { pruneHiddenDirectories: true })).toEqual({
        entries: [
          { path: at("walk/b"), kind: "file" },
          { path: at("walk/sub dir"), kind: "directory" },
          { path: at("walk/sub dir/.git"), kind: "directory" },
          { path: at("walk/sub dir/c"), kind: "file" },
        ],
        errors: [],
        truncated: false,
      });
      expect((await files.walk(at("walk"))).entries).toHaveLength(5);
      expect((await files.walk(at("walk"), { maxDepth: 0 })).entries).toHaveLength(2);
      expect((await files.walk(at("walk"), { maxEntries: 1 })).truncated).toBe(true);
    });

    it.each([0, 1, MIB - 1, MIB, MIB + 1, 9 * MIB + 12_345])(
      "a stream of %i bytes is written and read without loss",
      async (size) => {
        const bytes = randomBytes(size);
        expect(await files.writeStream(at("stream"), inPieces(bytes, 70_001))).toBe(size);
        expect(Buffer.compare(readFileSync(at("stream")), bytes)).toBe(0);
        const read: Uint8Array[] = [];
        for await (const piece of files.readStream(at("stream"))) read.push(piece);
        expect(Buffer.compare(Buffer.concat(read), bytes)).toBe(0);
      },
    );

    it("a shorter stream replaces all of a longer file", async () => {
      await writeFile(at("shrinks"), "longer than that");
      await files.writeStream(at("shrinks"), [new TextEncoder().encode("short")]);
      expect(readFileSync(at("shrinks"), "utf8")).toBe("short");
    });

    it("what does not fit one message is written and read all the same", async () => {
      const bytes = randomBytes(70 * MIB);
      await files.write(at("huge"), bytes);
      expect(hash(readFileSync(at("huge")))).toBe(hash(bytes));
      expect(hash(await files.read(at("huge")))).toBe(hash(bytes));
      await expect(files.read(at("huge"), { maxBytes: MIB })).rejects.toMatchObject({
        code: "INVALID_INPUT",
        rpcCode: undefined,
      });
    });

    it("streams left early leave no file open: more follow than may be open at once", async () => {
      await writeFile(at("left"), randomBytes(MIB + 1));
      for (let round = 0; round < 140; round += 1) {
        for await (const piece of files.readStream(at("left"))) {
          expect(piece.length).toBe(MIB);
          break;
        }
      }
      await expect(
        files.writeStream(
          at("left"),
          (function* () {
            yield new Uint8Array(3);
            throw new Error("the source broke");
          })(),
        ),
      ).rejects.toThrow("the source broke");
      expect((await files.read(at("stat"))).length).toBe(5);
    });

    it("an abort is the signal's reason, and closes the file", async () => {
      await writeFile(at("aborted"), randomBytes(6 * MIB));
      const controller = new AbortController();
      const stream = files.readStream(at("aborted"), { signal: controller.signal });
      await stream.next();
      const reason = new Error("enough");
      controller.abort(reason);
      const drained = async (): Promise<void> => {
        for await (const _ of stream);
      };
      await expect(drained()).rejects.toBe(reason);
      expect(target.caller.sent.at(-1)).toBe("fs/close");
      await expect(files.read(at("aborted"), { signal: controller.signal })).rejects.toBe(reason);
      const never = new AbortController();
      const writing = files.writeStream(
        at("aborted"),
        (async function* () {
          yield new Uint8Array(1);
          never.abort(reason);
          await new Promise(() => {});
        })(),
        { signal: never.signal },
      );
      await expect(writing).rejects.toBe(reason);
      expect(target.caller.sent.at(-1)).toBe("fs/close");
    });
  });

  describe("fetch", () => {
    const onUpstream = (
      answer: Answer,
      use: (origin: string, upstream: HttpUpstream) => Promise<void>,
    ): Promise<void> => withUpstream(answer, (upstream) => use(upstream.origin, upstream));
    const headerOf = (request: UpstreamRequest, name: string): string | undefined =>
      request.lines
        .find((line) => line.toLowerCase().startsWith(`${name}:`))
        ?.slice(name.length + 1)
        .trim();
    /** The request as it arrived, as JSON. */
    const echo: Answer = (request) => {
      const { method, target, lines, body } = request;
      const text = JSON.stringify({ method, target, lines, body: body.toString("latin1") });
      request.socket.write(response(200, ["Content-Type: application/json"], text));
    };

    it("gives a Response with status, headers and body", () =>
      onUpstream(
        ({ socket }) =>
          void socket.write(
            response(404, ["X-Many: 1", "X-Many: 2", "Set-Cookie: a=1", "Set-Cookie: b=2"], "no such page"),
          ),
        async (origin) => {
          const answer = await remoteFetch(`${origin}/page?q=1#part`);
          expect(answer).toBeInstanceOf(Response);
          expect({ status: answer.status, ok: answer.ok, statusText: answer.statusText }).toEqual({
            status: 404,
            ok: false,
            statusText: "",
          });
          expect(answer.headers.get("x-many")).toBe("1, 2");
          expect(answer.headers.getSetCookie()).toEqual(["a=1", "b=2"]);
          expect(answer.url).toBe(`${origin}/page?q=1`);
          const copy = answer.clone();
          expect(copy.url).toBe(`${origin}/page?q=1`);
          expect(await answer.text()).toBe("no such page");
          expect(await copy.text()).toBe("no such page");
          expect(target.caller.bodies.size).toBe(0);
        },
      ));

    it("sends what is asked: method, headers and every kind of body", () =>
      onUpstream(echo, async (origin, upstream) => {
        const form = new FormData();
        form.set("field", "value");
        form.set("file", new Blob(["contents"]), "name.txt");
        const stream = new ReadableStream({
          start(controller) {
            controller.enqueue(new TextEncoder().encode("from a "));
            controller.enqueue(new TextEncoder().encode("stream"));
            controller.close();
          },
        });
        const bodies: [
          body: NonNullable<RequestInit["body"]>,
          type: RegExp | undefined,
          text: string | RegExp,
        ][] = [
          ["text", /^text\/plain;charset=UTF-8$/i, "text"],
          [new URLSearchParams({ a: "1 2" }), /^application\/x-www-form-urlencoded;charset=UTF-8$/i, "a=1+2"],
          [new Uint8Array([1, 2, 3]), undefined, "\x01\x02\x03"],
          [new Uint8Array([4, 5]).buffer, undefined, "\x04\x05"],
          [new Blob(["blob"], { type: "text/x-test" }), /^text\/x-test$/, "blob"],
          [stream, undefined, "from a stream"],
          [form, /^multipart\/form-data; boundary=/, /name="field"\r\n\r\nvalue\r\n[^]*filename="name.txt"/],
        ];
        for (const [body, type, text] of bodies) {
          const sent = upstream.requests.length;
          const answer = await remoteFetch(new URL(`${origin}/x`), {
            method: "post",
            body,
            headers: { "X-Own": "yes" },
          });
          await answer.json();
          const request = upstream.requests[sent]!;
          expect(request.method).toBe("POST");
          expect(headerOf(request, "x-own")).toBe("yes");
          const contentType = headerOf(request, "content-type");
          if (type === undefined) expect(contentType).toBeUndefined();
          else expect(contentType).toMatch(type);
          const received = request.body.toString("latin1");
          if (typeof text === "string") expect(received).toBe(text);
          else expect(received).toMatch(text);
        }
      }));

    it("takes a Request, whose members init overrides", () =>
      onUpstream(echo, async (origin) => {
        const request = new Request(`${origin}/r`, { method: "PUT", body: "body", headers: { "x-a": "1" } });
        expect(await (await remoteFetch(request)).json()).toMatchObject({
          method: "PUT",
          target: "/r",
          body: "body",
          lines: expect.arrayContaining(["x-a: 1"]),
        });
        await expect(remoteFetch(request)).rejects.toThrow(TypeError);
        const other = new Request(`${origin}/r`, { method: "PUT", body: "body" });
        expect(await (await remoteFetch(other, { method: "PATCH", body: "new" })).json()).toMatchObject({
          method: "PATCH",
          body: "new",
        });
      }));

    it("follows redirects, gives them as they are, or fails on them", () =>
      onUpstream(
        (request) =>
          void request.socket.write(
            pathOf(request) === "/from" ? response(302, ["Location: /to"]) : response(200, [], "arrived"),
          ),
        async (origin) => {
          expect(await (await remoteFetch(`${origin}/from`)).text()).toBe("arrived");
          const manual = await remoteFetch(`${origin}/from`, { redirect: "manual" });
          expect([manual.status, manual.headers.get("location")]).toEqual([302, "/to"]);
          await manual.text();
          await expect(remoteFetch(`${origin}/from`, { redirect: "error" })).rejects.toThrow(TypeError);
          expect(target.caller.bodies.size).toBe(0);
        },
      ));

    it("decompresses gzip and deflate, with and without a header, and leaves the rest alone", async () => {
      const text = "compressible ".repeat(20_000);
      const encoded: Record<string, Buffer> = {
        "/gzip": gzipSync(text),
        "/deflate": deflateSync(text),
        "/raw": deflateRawSync(text),
        "/twice": gzipSync(deflateSync(text)),
        "/br": Buffer.from("not looked at"),
        "/cut": gzipSync(text).subarray(0, 200),
        "/empty": Buffer.alloc(0),
      };
      const codings: Record<string, string> = {
        "/raw": "deflate",
        "/twice": "deflate, gzip",
        "/cut": "gzip",
        "/empty": "gzip",
      };
      await onUpstream(
        (request) => {
          const path = pathOf(request);
          const body = encoded[path]!;
          request.socket.write(head(body.length, [`Content-Encoding: ${codings[path] ?? path.slice(1)}`]));
          request.socket.write(body);
        },
        async (origin, upstream) => {
          for (const path of ["/gzip", "/deflate", "/raw", "/twice"])
            expect((await (await remoteFetch(origin + path)).text()) === text, path).toBe(true);
          expect(headerOf(upstream.requests[0]!, "accept-encoding")).toBe("gzip, deflate");
          expect(await (await remoteFetch(`${origin}/br`)).text()).toBe("not looked at");
          expect(await (await remoteFetch(`${origin}/empty`)).text()).toBe("");
          await expect((await remoteFetch(`${origin}/cut`)).text()).rejects.toThrow(
            "the body does not match its content-encoding",
          );
          await remoteFetch(`${origin}/br`, { headers: { "accept-encoding": "br" } });
          expect(headerOf(upstream.requests.at(-1)!, "accept-encoding")).toBe("br");
          await remoteFetch(`${origin}/br`, { headers: { range: "bytes=0-1" } });
          expect(headerOf(upstream.requests.at(-1)!, "accept-encoding")).toBe("identity");
        },
      );
    });

    it("has no body where there is none", () =>
      onUpstream(
        ({ socket, method, target }) =>
          void socket.write(
            method === "HEAD"
              ? head(10, ["Content-Encoding: gzip"])
              : `HTTP/1.1 ${target.slice(1)} X\r\nX-A: 1\r\n\r\n`,
          ),
        async (origin) => {
          for (const [path, init] of [["/204"], ["/304"], ["/x", { method: "HEAD" }]] as const) {
            const answer = await remoteFetch(origin + path, init);
            expect(answer.body).toBeNull();
            expect(await answer.text()).toBe("");
          }
        },
      ));

    it("a body arrives while it is being sent", async () => {
      let upstreamSocket: UpstreamRequest["socket"] | undefined;
      await onUpstream(
        ({ socket }) => {
          upstreamSocket = socket;
          socket.write(CHUNKED_HEAD);
          socket.write(chunk("first"));
        },
        async (origin) => {
          const reader = (await remoteFetch(origin)).body!.getReader();
          expect(Buffer.from((await reader.read()).value).toString()).toBe("first");
          upstreamSocket!.write(chunk("second"));
          expect(Buffer.from((await reader.read()).value).toString()).toBe("second");
          upstreamSocket!.write(LAST_CHUNK);
          expect((await reader.read()).done).toBe(true);
        },
      );
    });

    it("a large body arrives whole", () => {
      const body = randomBytes(30 * MIB);
      return onUpstream(
        ({ socket }) => {
          socket.write(head(body.length));
          socket.write(body);
        },
        async (origin) => {
          const received = new Uint8Array(await (await remoteFetch(origin)).arrayBuffer());
          expect(hash(received)).toBe(hash(body));
        },
      );
    });

    it("failures of the network are TypeErrors with their cause", () =>
      onUpstream(
        ({ socket, target }) => {
          if (target === "/cut") socket.end(`${head(100)}only this`);
          else socket.destroy();
        },
        async (origin) => {
          const failure: unknown = await remoteFetch(`${origin}/none`).catch((error: unknown) => error);
          expect(failure).toBeInstanceOf(TypeError);
          const code = server.startsWith("our") ? "OS_ERROR" : "RPC_ERROR";
          expect(failure).toMatchObject({ cause: { code, rpcCode: -32603 } });
          const cut = await remoteFetch(`${origin}/cut`);
          const broken: unknown = await cut.text().catch((error: unknown) => error);
          expect(broken).toBeInstanceOf(TypeError);
          expect((broken as TypeError).message).toMatch(
            /^the body failed: http response stream `http-\d+` failed: error decoding response body$/,
          );
          await expect(remoteFetch(origin, { method: "not valid" })).rejects.toThrow(TypeError);
          expect(target.caller.bodies.size).toBe(0);
        },
      ));

    it("an abort before the head and in mid-body gives the signal's reason", () =>
      onUpstream(
        ({ socket, target }) => {
          if (target === "/body") socket.write(`${head(100)}some`);
        },
        async (origin, upstream) => {
          const reason = new Error("no longer");
          // The real server answers one request after another; it must not be held up by the one that has no answer.
          const inBody = new AbortController();
          const answer = await remoteFetch(`${origin}/body`, { signal: inBody.signal });
          const reader = answer.body!.getReader();
          expect(Buffer.from((await reader.read()).value).toString()).toBe("some");
          const pending = reader.read();
          inBody.abort(reason);
          await expect(pending).rejects.toBe(reason);

          const beforeHead = new AbortController();
          const waiting = remoteFetch(`${origin}/silent`, { signal: beforeHead.signal });
          const silent = await upstream.request(2);
          beforeHead.abort(reason);
          await expect(waiting).rejects.toBe(reason);
          silent.socket.destroy();

          await expect(remoteFetch(origin, { signal: beforeHead.signal })).rejects.toBe(reason);
          expect(target.caller.bodies.size).toBe(0);
        },
      ));

    it("a body that is cancelled is unregistered", () =>
      onUpstream(
        ({ socket }) => void socket.write(`${head(100)}some`),
        async (origin) => {
          const answer = await remoteFetch(origin);
          expect(target.caller.bodies.size).toBe(1);
          await answer.body!.cancel();
          expect(target.caller.bodies.size).toBe(0);
        },
      ));

    it("many small pieces that come at once are not too many", () =>
      onUpstream(
        ({ socket }) => {
          socket.write(CHUNKED_HEAD);
          socket.write(Buffer.concat([...Array(5000).keys()].map((n) => chunk(`${n},`))));
          socket.write(LAST_CHUNK);
        },
        async (origin) => {
          const text = await (await remoteFetch(origin)).text();
          expect(text).toBe([...Array(5000).keys()].map((n) => `${n},`).join(""));
        },
      ));
  });
});

function* inPieces(bytes: Uint8Array, size: number): Generator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size);
}

function hash(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
