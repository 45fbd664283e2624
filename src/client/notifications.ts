import { decodeBase64 } from "../base/base64.ts";
import { ProtocolError } from "../base/errors.ts";
import type { OutputStream } from "../protocol/process.ts";
import type { NumberedEvent } from "./process-events.ts";

// Checked by hand: output comes in thousands of notifications a second, and the schemas' library would be most of a web page's bundle.

/** Reads a notification about a process, or gives undefined for any other. Throws a ProtocolError when it does not fit the protocol. */
export function processEventOf(
  method: string,
  params: unknown,
): { readonly processId: string; readonly event: NumberedEvent } | undefined {
  switch (method) {
    case "process/output": {
      const { processId, seq, stream, chunk } = numbered(method, params);
      if (!isStream(stream) || typeof chunk !== "string") throw misfit(method);
      return { processId, event: { kind: "output", seq, stream, bytes: decoded(method, chunk) } };
    }
    case "process/exited": {
      const { processId, seq, exitCode, sandboxDenied, exit } = numbered(method, params);
      if (typeof exitCode !== "number") throw misfit(method);
      const report = typeof exit === "object" ? exit : undefined;
      return {
        processId,
        event: { kind: "exited", seq, exitCode, sandboxDenied: sandboxDenied === true, ...report },
      };
    }
    case "process/closed": {
      const { processId, seq } = numbered(method, params);
      return { processId, event: { kind: "closed", seq } };
    }
    default:
      return undefined;
  }
}

interface Numbered extends Record<string, unknown> {
  readonly processId: string;
  readonly seq: number;
}

function numbered(method: string, params: unknown): Numbered {
  const fields = recordOf(method, params);
  if (typeof fields.processId !== "string" || !Number.isSafeInteger(fields.seq)) throw misfit(method);
  return fields as Numbered;
}

function recordOf(method: string, params: unknown): Record<string, unknown> {
  if (typeof params !== "object" || params === null) throw misfit(method);
  return params as Record<string, unknown>;
}

function isStream(value: unknown): value is OutputStream {
  return value === "stdout" || value === "stderr" || value === "pty";
}

function decoded(method: string, chunk: string): Uint8Array {
  try {
    return decodeBase64(chunk);
  } catch (cause) {
    throw new ProtocolError(
      `exec-server notification handling failed: ${method}: ${(cause as Error).message}`,
      {
        cause,
      },
    );
  }
}

function misfit(method: string): ProtocolError {
  return new ProtocolError(
    `exec-server notification handling failed: the parameters of ${method} do not fit the protocol`,
  );
}
