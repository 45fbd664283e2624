import type { RpcError } from "../../base/errors.ts";

/** Names of the system errors of file operations and program starts, by Linux error number. */
const ERRNO_NAMES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    1: "EPERM",
    2: "ENOENT",
    5: "EIO",
    6: "ENXIO",
    7: "E2BIG",
    8: "ENOEXEC",
    9: "EBADF",
    11: "EAGAIN",
    12: "ENOMEM",
    13: "EACCES",
    16: "EBUSY",
    17: "EEXIST",
    18: "EXDEV",
    20: "ENOTDIR",
    21: "EISDIR",
    22: "EINVAL",
    23: "ENFILE",
    24: "EMFILE",
    26: "ETXTBSY",
    27: "EFBIG",
    28: "ENOSPC",
    30: "EROFS",
    31: "EMLINK",
    36: "ENAMETOOLONG",
    39: "ENOTEMPTY",
    40: "ELOOP",
    122: "EDQUOT",
  }),
);

/** The system error in an answer. Our server names it; Codex's gives the number at the end of its message. */
export function errnoOf({ data, message }: RpcError): string | undefined {
  const sent = (data as { errno?: unknown } | null | undefined)?.errno;
  if (typeof sent === "string") return sent;
  const number = /\(os error (\d{1,9})\)$/.exec(message)?.[1];
  return number === undefined ? undefined : ERRNO_NAMES.get(number);
}
