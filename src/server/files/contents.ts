import { decodeBase64, encodeBase64 } from "../../base/base64.ts";
import { RpcError } from "../../base/errors.ts";
import { base64Length } from "../../capabilities/base64-into.ts";
import { inFiles } from "../../capabilities/files/file-error.ts";
import { FileHandles } from "../../capabilities/files/file-handles.ts";
import { hashFile, hashFiles } from "../../capabilities/files/hash.ts";
import { readFile } from "../../capabilities/files/read-file.ts";
import { writeFile } from "../../capabilities/files/write-file.ts";
import { RpcCode } from "../../protocol/errors.ts";
import type { Result } from "../../protocol/index.ts";
import { DeferredAnswer } from "../../rpc/deferred-answer.ts";
import { JsonText, type JsonParts } from "../../rpc/json-text.ts";
import type { Handlers } from "../../rpc/router.ts";
import { BulkAnswer } from "../wire/bulk-answer.ts";
import { perClient } from "../wire/per-client.ts";
import { invalidParams } from "../wire/refusals.ts";
import type { FileClient } from "./file-client.ts";
import { linksOf, type Locations } from "./locations.ts";

/** Larger answers are assembled as bytes: stringifying would check every character. */
const SMALL_BLOCK_BYTES = 4 * 1024;

/** The open files of a connection. Unlike processes, they end with it. */
export const handlesOf = perClient<FileClient, FileHandles>(
  () => new FileHandles(),
  (handles) => handles.closeAll(),
);

/** Methods that read or write contents: of whole files with one request, and of open files in blocks. */
export function contentHandlers(locations: Locations) {
  return {
    "fs/readFile": (client, params) => {
      const location = locations.locate(client, params);
      return inFiles(() => {
        const answer = new BulkAnswer();
        const held = client.budget.open();
        const options = { ...linksOf(params), maxBytes: params.maxBytes ?? undefined };
        const file = readFile(location, options, {
          admit: (bytes) => held.grow(base64Length(bytes)),
          onPiece: (piece) => answer.push("", piece, ""),
        });
        if (Buffer.isBuffer(file)) return shortFile(file);
        if (!(file instanceof Promise)) return longFile(file.size);
        return file
          .then((): JsonText | JsonParts => answer.finish('{"dataBase64":"', '"}'))
          .finally(() => held.release());
      });
    },

    "fs/hash": (client, params) => {
      const location = locations.locate(client, params);
      const range = { offset: params.offset ?? 0, length: params.length ?? undefined };
      const hashing = async (): Promise<Result<"fs/hash">> => {
        const { signal } = client;
        const hashes = params.names
          ? await hashFiles(location, params.names, range, signal)
          : [await hashFile(location, range, signal)];
        return { hashes: hashes.map((hash) => hash ?? { bytes: 0 }) };
      };
      return new DeferredAnswer(Promise.resolve(inFiles(hashing)));
    },

    "fs/writeFile": (client, params, attachment) => {
      const bytes = attachment?.bytes ?? decodeBase64(params.dataBase64, noBase64);
      const location = locations.locate(client, params);
      const options = { ...linksOf(params), mode: params.mode ?? undefined };
      return inFiles(() => {
        const written = writeFile(location, bytes, options);
        if (written === undefined) return {};
        return written.finally(() => attachment?.release()).then(() => ({}));
      });
    },

    "fs/open": (client, params) => {
      const location = locations.locate(client, params);
      const { handleId, mode } = params;
      return inFiles(() => {
        handlesOf(client).open(handleId, location, mode ?? "read");
        return { handleId };
      });
    },

    "fs/openPart": (client, params) => {
      const location = locations.locate(client, params);
      const { handleId, length } = params;
      return inFiles(() => {
        handlesOf(client).openPart(handleId, location, {
          length: length ?? 0,
          isPrivate: params.private ?? false,
        });
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
  } satisfies Handlers<FileClient>;
}

/** The answer with the contents of a file. */
export function shortFile(contents: Buffer): JsonText {
  return new JsonText(`{"dataBase64":"${contents.toString("base64")}"}`);
}

/** The answer for a file that is longer than the request wants. */
export function longFile(size: number): JsonText {
  return new JsonText(`{"dataBase64":"","size":${size}}`);
}

export function noBase64(reason: string): RpcError {
  return new RpcError(RpcCode.invalidRequest, `fs/writeFile requires valid base64 dataBase64: ${reason}`);
}
