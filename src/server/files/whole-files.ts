import { decodeBase64 } from "../../base/base64.ts";
import { RpcError } from "../../base/errors.ts";
import { inFiles } from "../../capabilities/files/file-error.ts";
import { hashFile, hashFiles } from "../../capabilities/files/hash.ts";
import { readFile } from "../../capabilities/files/read-file.ts";
import { writeFile } from "../../capabilities/files/write-file.ts";
import { base64Length } from "../../capabilities/base64-into.ts";
import { RpcCode } from "../../protocol/errors.ts";
import type { Result } from "../../protocol/index.ts";
import { DeferredAnswer } from "../../rpc/deferred-answer.ts";
import { JsonText, type JsonParts } from "../../rpc/json-text.ts";
import type { Handlers } from "../../rpc/router.ts";
import { BulkAnswer } from "../wire/bulk-answer.ts";
import type { FileClient } from "./file-client.ts";
import { linksOf, type Locate } from "./locate.ts";

/** Files that are read or written with one request. */
export function wholeFileHandlers(locate: Locate) {
  return {
    "fs/readFile": (client, params) => {
      const location = locate(client, params);
      return inFiles(() => {
        const answer = new BulkAnswer();
        const held = client.budget.open();
        const file = readFile(location, linksOf(params), {
          admit: (bytes) => held.grow(base64Length(bytes)),
          onPiece: (piece) => answer.push("", piece, ""),
        });
        if (Buffer.isBuffer(file)) return new JsonText(`{"dataBase64":"${file.toString("base64")}"}`);
        return file
          .then((): JsonText | JsonParts => answer.finish('{"dataBase64":"', '"}'))
          .finally(() => held.release());
      });
    },

    "fs/hash": (client, params) => {
      const location = locate(client, params);
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
      const location = locate(client, params);
      const options = { ...linksOf(params), mode: params.mode ?? undefined };
      return inFiles(() => {
        const written = writeFile(location, bytes, options);
        if (written === undefined) return {};
        return written.finally(() => attachment?.release()).then(() => ({}));
      });
    },
  } satisfies Handlers<FileClient>;
}

export function noBase64(reason: string): RpcError {
  return new RpcError(RpcCode.invalidRequest, `fs/writeFile requires valid base64 dataBase64: ${reason}`);
}
