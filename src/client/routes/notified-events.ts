import { ProtocolError } from "../../base/errors.ts";
import { decodeBase64 } from "../../base/base64.ts";
import type { OutputStream } from "../../protocol/process.ts";
import { exitedEvent, type NumberedEvent } from "./process-events.ts";
import { checkedParams } from "../calls/wire-check.ts";

/**
 * Parses a notification about a process; undefined for any other. Throws a ProtocolError if it violates the protocol.
 */
export function processEventOf(
  method: string,
  params: unknown,
): { readonly processId: string; readonly event: NumberedEvent } | undefined {
  switch (method) {
    case "process/output":
      return outputOf(params);
    case "process/exited": {
      const { processId, seq, exitCode, sandboxDenied = false, exit } = checkedParams(method, params);
      return { processId, event: exitedEvent({ seq, exitCode, sandboxDenied, exit }) };
    }
    case "process/closed": {
      const { processId, seq } = checkedParams(method, params);
      return { processId, event: { kind: "closed", seq } };
    }
    default:
      return undefined;
  }
}

/**
 * Checked by hand, because output arrives in tens of thousands of notifications per second. The table describes any
 * fault.
 */
function outputOf(params: unknown): { readonly processId: string; readonly event: NumberedEvent } {
  const { processId, seq, stream, chunk } = (params ?? {}) as Readonly<Record<string, unknown>>;
  if (
    typeof processId !== "string" ||
    !(Number.isSafeInteger(seq) && (seq as number) > 0) ||
    !isStream(stream) ||
    typeof chunk !== "string" ||
    Array.isArray(params)
  ) {
    checkedParams("process/output", params);
    throw new ProtocolError("exec-server notification handling failed: process/output does not fit");
  }
  const bytes = decodeBase64(chunk, noBase64);
  return { processId, event: { kind: "output", seq: seq as number, stream, bytes } };
}

function isStream(value: unknown): value is OutputStream {
  return value === "stdout" || value === "stderr" || value === "pty";
}

function noBase64(reason: string): ProtocolError {
  return new ProtocolError(`exec-server notification handling failed: process/output: ${reason}`);
}
