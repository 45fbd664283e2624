import { invalidParams } from "../wire/refusals.ts";
import { decodeBase64, encodeBase64 } from "../../base/base64.ts";
import { inFiles } from "../../capabilities/files/file-error.ts";
import type { Handlers } from "../../rpc/router.ts";
import { BulkAnswer } from "../wire/bulk-answer.ts";
import type { FileClient } from "./file-client.ts";
import { handlesOf } from "./open-handles.ts";
import type { Locate } from "./locate.ts";

/** From this size on, an answer is assembled as bytes: stringifying it would check every character. */
const SMALL_BLOCK_BYTES = 4 * 1024;

/** Files that are read or written in blocks. */
export function openFileHandlers(locate: Locate) {
  return {
    "fs/open": (client, params) => {
      const location = locate(client, params);
      const { handleId, mode } = params;
      return inFiles(() => {
        handlesOf(client).open(handleId, location, mode ?? "read");
        return { handleId };
      });
    },

    "fs/openPart": (client, params) => {
      const location = locate(client, params);
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
