import { Base64Error, decodeBase64, encodeBase64 } from "../../base/base64.ts";
import { base64Between, base64Length } from "../../capabilities/base64-into.ts";
import { CapabilityError, RpcError } from "../../base/errors.ts";
import { uriFromPath } from "../../base/file-uri.ts";
import { copy } from "../../capabilities/files/copy.ts";
import { createDirectory, type DirectoryEntry, readDirectory } from "../../capabilities/files/directories.ts";
import type { FileAccess } from "../../capabilities/files/file-access.ts";
import { inFiles } from "../../capabilities/files/file-error.ts";
import { FileHandles } from "../../capabilities/files/file-handles.ts";
import { canonicalize, readMetadata } from "../../capabilities/files/metadata.ts";
import type { NativePath } from "../../capabilities/files/native-path.ts";
import { readFile } from "../../capabilities/files/read-file.ts";
import { remove } from "../../capabilities/files/remove.ts";
import { checkWalkLimits, walk } from "../../capabilities/files/walk.ts";
import { MAX_WATCHED_PATHS, watchMissing } from "../../capabilities/files/watch-missing.ts";
import { writeFile } from "../../capabilities/files/write-file.ts";
import { RpcCode } from "../../protocol/errors.ts";
import { attachedBytes, releaseAttachment } from "../../rpc/attachment.ts";
import { JsonParts } from "../../rpc/json-parts.ts";
import { JsonText } from "../../rpc/json-text.ts";
import type { Handlers } from "../../rpc/router.ts";
import type { ClientConnection } from "../client-connection.ts";
import { decodePath } from "../path-param.ts";
import { refuseProtection } from "../refuse-protection.ts";

/** From here on an answer is put together as bytes: stringifying it would look at every character. */
const SMALL_BLOCK_BYTES = 4 * 1024;

export function fileHandlers(access: FileAccess) {
  return {
    "fs/readFile": (client, params) => {
      const path = pathOf(params);
      return inFiles(() => {
        const place = access.place(path, { followSymlinks: params.followSymlinks ?? true });
        const parts: Uint8Array[] = [Buffer.from('{"dataBase64":"')];
        const held = client.budget.open();
        const file = readFile(place.path, place, {
          admit: (bytes) => held.grow(base64Length(bytes)),
          onPiece: (piece) => parts.push(base64Between("", piece, "")),
        });
        if (Buffer.isBuffer(file)) return new JsonText(`{"dataBase64":"${file.toString("base64")}"}`);
        return file
          .then((): JsonText | JsonParts => {
            parts.push(Buffer.from('"}'));
            return new JsonParts(parts);
          })
          .finally(() => held.release());
      });
    },

    "fs/open": (client, params) => {
      const path = pathOf(params);
      const { handleId, mode } = params;
      return inFiles(() => {
        handlesOf(client).open(handleId, access.place(path, { followSymlinks: true }), mode ?? "read");
        return { handleId };
      });
    },

    "fs/readBlock": (client, { handleId, offset, len }) =>
      inFiles(async () => {
        const { bytes, eof } = await handlesOf(client).read(handleId, offset, len);
        if (bytes.length < SMALL_BLOCK_BYTES) return { chunk: encodeBase64(bytes), eof };
        return new JsonParts([base64Between('{"chunk":"', bytes, `","eof":${eof}}`)]);
      }),

    "fs/writeBlock": (client, params) => {
      const { handleId, offset, chunk } = params;
      const bytes =
        attachedBytes(params) ?? decodeBytes(chunk, (reason) => new RpcError(RpcCode.invalidParams, reason));
      return inFiles(async () => {
        await handlesOf(client).write(handleId, offset, bytes);
        releaseAttachment(params);
        return {};
      });
    },

    "fs/close": (client, { handleId }) =>
      inFiles(() => {
        handlesOf(client).close(handleId);
        return {};
      }),

    "fs/writeFile": (_, params) => {
      const bytes =
        attachedBytes(params) ??
        decodeBytes(
          params.dataBase64,
          (reason) =>
            new RpcError(RpcCode.invalidRequest, `fs/writeFile requires valid base64 dataBase64: ${reason}`),
        );
      const path = pathOf(params);
      return inFiles(() => {
        const place = access.place(path, { followSymlinks: params.followSymlinks ?? true });
        const written = writeFile(place.path, bytes, place);
        if (written === undefined) return {};
        return written.finally(() => releaseAttachment(params)).then(() => ({}));
      });
    },

    "fs/createDirectory": (_, params) => {
      const path = pathOf(params);
      return inFiles(() => {
        const place = access.place(path, { followSymlinks: params.followSymlinks ?? true });
        const { followSymlinks } = place;
        createDirectory(place.path, { recursive: params.recursive ?? true, followSymlinks });
        return {};
      });
    },

    "fs/getMetadata": (_, params) => {
      const path = pathOf(params);
      return inFiles(() => {
        const place = access.place(path, { followSymlinks: params.followSymlinks ?? true });
        const metadata = readMetadata(place.path, place);
        return { ...metadata, isSymlink: place.isSymlink ?? metadata.isSymlink, createdAtMs: 0 };
      });
    },

    "fs/canonicalize": (_, params) => {
      const path = pathOf(params);
      return inFiles(async () => ({
        path: uriFromPath(await access.onTarget(path, { followSymlinks: true }, canonicalize)),
      }));
    },

    "fs/readDirectory": (_, params) => {
      const path = pathOf(params);
      return inFiles(async () => entriesJson(await readDirectory(path, access)));
    },

    "fs/walk": (_, params) => {
      const { pruneHiddenDirectories = false, ...limits } = params.options;
      const options = { ...limits, pruneHiddenDirectories };
      checkWalkLimits(options);
      const path = pathOf(params);
      return inFiles(async () => {
        const { entries, errors, truncated } = await walk(path, options, access);
        return {
          entries: entries.map((entry) => ({ path: uriFromPath(entry.path), kind: entry.kind })),
          errors: errors.map((entry) => ({ path: uriFromPath(entry.path), message: entry.message })),
          truncated,
        };
      });
    },

    "fs/remove": (_, params) => {
      const path = pathOf(params);
      return inFiles(async () => {
        const options = {
          recursive: params.recursive ?? true,
          force: params.force ?? true,
          followSymlinks: params.followSymlinks ?? true,
        };
        await remove(path, options, access);
        return {};
      });
    },

    "fs/copy": (_, { sourcePath, destinationPath, recursive, sandbox }) => {
      const source = pathOf({ path: sourcePath, sandbox });
      const destination = pathOf({ path: destinationPath, sandbox });
      return inFiles(async () => {
        await copy(source, destination, { recursive }, access);
        return {};
      });
    },

    "fs/watchMissing": (client, { watchId, missing, present }) => {
      const watch = watchOf(client);
      // So many are not watched, so they are not looked at either.
      if (missing.length > MAX_WATCHED_PATHS) return { watching: watch.replace(watchId, [], undefined) };
      const paths = decodeAll(typeof present === "string" ? [...missing, present] : missing);
      for (const path of paths ?? []) refuseOutside(path, access);
      // A path of another system is never there.
      if (paths === undefined) return { watching: watch.replace(watchId, [], undefined) };
      const presentPath = typeof present === "string" ? paths.pop() : undefined;
      return { watching: watch.replace(watchId, paths, presentPath) };
    },
  } satisfies Handlers<ClientConnection>;
}

/** What else is wrong with a path only means that it cannot be watched. */
function refuseOutside(path: NativePath, access: FileAccess): void {
  try {
    access.place(path, { followSymlinks: true });
  } catch (error) {
    if (error instanceof CapabilityError && error.code === "PERMISSION_DENIED") throw error;
  }
}

/** What a connection holds open. It ends with the connection, unlike processes. */
const handles = new WeakMap<ClientConnection, FileHandles>();
const watches = new WeakMap<ClientConnection, MissingWatches>();

function handlesOf(client: ClientConnection): FileHandles {
  let found = handles.get(client);
  if (found === undefined) {
    const created = new FileHandles();
    client.signal.addEventListener("abort", () => created.closeAll(), { once: true });
    handles.set(client, created);
    found = created;
  }
  return found;
}

function watchOf(client: ClientConnection): MissingWatches {
  let found = watches.get(client);
  if (found === undefined) {
    const created = new MissingWatches((watchId) => client.notify("fs/missingChanged", { watchId }));
    client.signal.addEventListener("abort", () => created.close(), { once: true });
    watches.set(client, created);
    found = created;
  }
  return found;
}

/** Undefined when one of them names nothing on this host. */
function decodeAll(uris: readonly string[]): NativePath[] | undefined {
  try {
    return uris.map(decodePath);
  } catch (error) {
    if (error instanceof CapabilityError) return undefined;
    throw error;
  }
}

/** One watch at a time: a new one takes the place of the old. Ids must grow, so that a late notification cannot be mistaken. */
class MissingWatches {
  readonly #notify: (watchId: number) => void;
  #newestId = 0;
  #stop: (() => void) | undefined;

  constructor(notify: (watchId: number) => void) {
    this.#notify = notify;
  }

  replace(watchId: number, missing: readonly NativePath[], present: NativePath | undefined): boolean {
    if (watchId <= this.#newestId) return false;
    this.#newestId = watchId;
    this.close();
    this.#stop = watchMissing(missing, present, () => this.#notify(watchId));
    return this.#stop !== undefined;
  }

  close(): void {
    this.#stop?.();
    this.#stop = undefined;
  }
}

type Sandboxed = { path: string; sandbox?: Parameters<typeof refuseProtection>[0]["sandbox"] };

function pathOf({ path, sandbox }: Sandboxed): NativePath {
  refuseProtection({ sandbox });
  return decodePath(path);
}

function decodeBytes(text: string, describe: (reason: string) => RpcError): Uint8Array {
  try {
    return decodeBase64(text);
  } catch (error) {
    if (error instanceof Base64Error) throw describe(error.message);
    throw error;
  }
}

/** Characters that JSON spells as they are. */
const PLAIN_TEXT = /^[ !#-[\]-~]*$/;

/** Directories can have many thousand entries; one growing text takes less than half as long as `JSON.stringify`. */
function entriesJson(entries: readonly DirectoryEntry[]): JsonText {
  let json = "";
  for (const { fileName, isDirectory, isFile } of entries) {
    const name = PLAIN_TEXT.test(fileName) ? `"${fileName}"` : JSON.stringify(fileName);
    json += `${json === "" ? "" : ","}{"fileName":${name},"isDirectory":${isDirectory},"isFile":${isFile}}`;
  }
  return new JsonText(`{"entries":[${json}]}`);
}
