import { decodeBase64, encodeBase64 } from "../../base/base64.ts";
import { base64Length } from "../../native/base64-into.ts";
import { CapabilityError, RpcError } from "../../base/errors.ts";
import { uriFromPath } from "../../base/file-uri.ts";
import { copy } from "../../capabilities/files/copy.ts";
import { createDirectory, type DirectoryEntry, readDirectory } from "../../capabilities/files/directories.ts";
import { inFiles } from "../../capabilities/files/file-error.ts";
import { FileHandles } from "../../capabilities/files/file-handles.ts";
import { readMetadata } from "../../capabilities/files/metadata.ts";
import type { Place } from "../../capabilities/files/place.ts";
import { readFile } from "../../capabilities/files/read-file.ts";
import { remove } from "../../capabilities/files/remove.ts";
import { checkWalkLimits, walk } from "../../capabilities/files/walk.ts";
import { MAX_WATCHED_PATHS, watchMissing } from "../../capabilities/files/watch-missing.ts";
import { writeFile } from "../../capabilities/files/write-file.ts";
import { Turns } from "../../capabilities/turns.ts";
import { RpcCode } from "../../protocol/errors.ts";
import type { JsonParts } from "../../rpc/json-parts.ts";
import { JsonText } from "../../rpc/json-text.ts";
import type { Handlers } from "../../rpc/router.ts";
import { invalidParams } from "../invalid-params.ts";
import { BulkAnswer } from "../bulk-answer.ts";
import type { ClientConnection } from "../client-connection.ts";
import type { Places } from "../places.ts";
import { refuseProtection } from "../refuse-protection.ts";

/** From here on an answer is put together as bytes: stringifying it would look at every character. */
const SMALL_BLOCK_BYTES = 4 * 1024;

export function fileHandlers(places: Places) {
  const placeOf = ({ path, sandbox }: Sandboxed): Place => {
    refuseProtection({ sandbox });
    return places.at(path);
  };

  return {
    "fs/readFile": (client, params) => {
      const place = placeOf(params);
      return inFiles(() => {
        const answer = new BulkAnswer();
        const held = client.budget.open();
        const file = readFile(place, linksOf(params), {
          admit: (bytes) => held.grow(base64Length(bytes)),
          onPiece: (piece) => answer.push("", piece, ""),
        });
        if (Buffer.isBuffer(file)) return new JsonText(`{"dataBase64":"${file.toString("base64")}"}`);
        return file
          .then((): JsonText | JsonParts => answer.finish('{"dataBase64":"', '"}'))
          .finally(() => held.release());
      });
    },

    "fs/open": (client, params) => {
      const place = placeOf(params);
      const { handleId, mode } = params;
      return inFiles(() => {
        handlesOf(client).open(handleId, place, mode ?? "read");
        return { handleId };
      });
    },

    "fs/readBlock": (client, { handleId, offset, len }) =>
      inFiles(() =>
        handlesOf(client).read(handleId, { offset, length: len }, (bytes, eof) => {
          if (bytes.length < SMALL_BLOCK_BYTES) return { chunk: encodeBase64(bytes), eof };
          const answer = new BulkAnswer();
          answer.push('{"chunk":"', bytes, `","eof":${eof}}`);
          return answer.finish();
        }),
      ),

    "fs/writeBlock": (client, { handleId, offset, chunk }, attachment) => {
      const bytes = attachment?.bytes ?? decodeBase64(chunk, invalidParams);
      return inFiles(async () => {
        await handlesOf(client).write(handleId, offset, bytes);
        attachment?.release();
        return {};
      });
    },

    "fs/close": (client, { handleId }) =>
      inFiles(() => {
        handlesOf(client).close(handleId);
        return {};
      }),

    "fs/writeFile": (_, params, attachment) => {
      const bytes = attachment?.bytes ?? decodeBase64(params.dataBase64, noBase64);
      const place = placeOf(params);
      return inFiles(() => {
        const written = writeFile(place, bytes, linksOf(params));
        if (written === undefined) return {};
        return written.finally(() => attachment?.release()).then(() => ({}));
      });
    },

    "fs/createDirectory": (_, params) => {
      const place = placeOf(params);
      return inFiles(() => {
        const created = createDirectory(place, { recursive: params.recursive ?? true, ...linksOf(params) });
        return created === undefined ? {} : created.then(() => ({}));
      });
    },

    "fs/getMetadata": (_, params) => {
      const place = placeOf(params);
      return inFiles(() => ({ ...readMetadata(place, linksOf(params)), createdAtMs: 0 }));
    },

    "fs/canonicalize": (_, params) => {
      const place = placeOf(params);
      return inFiles(async () => ({ path: uriFromPath(await place.realPath()) }));
    },

    "fs/readDirectory": (_, params) => {
      const place = placeOf(params);
      return inFiles(async () => entriesJson(await readDirectory(place)));
    },

    "fs/walk": (_, params) => {
      const { pruneHiddenDirectories = false, ...limits } = params.options;
      const options = { ...limits, pruneHiddenDirectories };
      checkWalkLimits(options);
      const place = placeOf(params);
      return inFiles(async () => {
        const { entries, errors, truncated } = await walk(place, options);
        return {
          entries: entries.map((entry) => ({ path: entry.place.uri, kind: entry.kind })),
          errors: errors.map((entry) => ({ path: entry.place.uri, message: entry.message })),
          truncated,
        };
      });
    },

    "fs/remove": (_, params) => {
      const place = placeOf(params);
      return inFiles(async () => {
        const { recursive, force } = params;
        await remove(place, { recursive: recursive ?? true, force: force ?? true, ...linksOf(params) });
        return {};
      });
    },

    "fs/copy": (_, { sourcePath, destinationPath, recursive, sandbox }) => {
      const source = placeOf({ path: sourcePath, sandbox });
      const destination = placeOf({ path: destinationPath, sandbox });
      return inFiles(async () => {
        await copy(source, destination, { recursive });
        return {};
      });
    },

    "fs/watchMissing": async (client, { watchId, missing, present }) => {
      const watch = watchOf(client);
      // So many are not watched, so they are not looked at either.
      if (missing.length > MAX_WATCHED_PATHS)
        return { watching: await watch.replace(watchId, [], undefined) };
      const texts = typeof present === "string" ? [...missing, present] : missing;
      const found = await placesToWatch(texts, places);
      // A path of another system is never there.
      if (found === undefined) return { watching: await watch.replace(watchId, [], undefined) };
      const presentPlace = typeof present === "string" ? found.pop() : undefined;
      return { watching: await watch.replace(watchId, found, presentPlace) };
    },
  } satisfies Handlers<ClientConnection>;
}

/** Undefined when one of them names nothing on this host. Throws for what is outside the roots. */
async function placesToWatch(texts: readonly string[], places: Places): Promise<Place[] | undefined> {
  const turns = new Turns();
  const found: Place[] = [];
  let isComplete = true;
  for (const text of texts) {
    if (turns.over) await turns.next();
    try {
      found.push(places.at(text));
    } catch (error) {
      if (!(error instanceof CapabilityError)) throw error;
      isComplete = false;
    }
  }
  for (const place of found) {
    if (turns.over) await turns.next();
    refuseOutside(place);
  }
  return isComplete ? found : undefined;
}

/** What else is wrong with a path only means that it cannot be watched. */
function refuseOutside(place: Place): void {
  try {
    place.check({ followSymlinks: true });
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

/** One watch at a time: a new one takes the place of the old. Ids must grow, so that a late notification cannot be mistaken. */
class MissingWatches {
  readonly #notify: (watchId: number) => void;
  #newestId = 0;
  #stop: (() => void) | undefined;

  constructor(notify: (watchId: number) => void) {
    this.#notify = notify;
  }

  async replace(watchId: number, missing: readonly Place[], present: Place | undefined): Promise<boolean> {
    if (watchId <= this.#newestId) return false;
    this.#newestId = watchId;
    this.#end();
    const stop = await watchMissing(missing, present, () => this.#notify(watchId));
    // Meanwhile a newer one may have come, or the connection gone.
    if (this.#newestId !== watchId) stop?.();
    else this.#stop = stop;
    return this.#stop !== undefined && this.#stop === stop;
  }

  close(): void {
    this.#newestId = Number.POSITIVE_INFINITY;
    this.#end();
  }

  #end(): void {
    this.#stop?.();
    this.#stop = undefined;
  }
}

type Sandboxed = { path: string; sandbox?: Parameters<typeof refuseProtection>[0]["sandbox"] };

function linksOf({ followSymlinks }: { followSymlinks?: boolean | null | undefined }) {
  return { followSymlinks: followSymlinks ?? true };
}

function noBase64(reason: string): RpcError {
  return new RpcError(RpcCode.invalidRequest, `fs/writeFile requires valid base64 dataBase64: ${reason}`);
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
