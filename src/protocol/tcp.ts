import * as z from "zod";
import { methodsWith, schema } from "./define.ts";
import { Base64, Empty, nullableFlag, optional, Unsigned } from "./fields.ts";

const TcpId = schema(() =>
  z.string().max(128).describe("Chosen by the client; unique within its connection, with which it ends"),
);

const Port = schema(() =>
  Unsigned().refine((value) => value >= 1 && value <= 65_535, "expected a port from 1 to 65535"),
);

const tcpMethod = methodsWith({
  family: "tcp",
  right: "network",
  lost: "ended",
  answers: "eventually",
  extension: true,
});

/** TCP connections from the server's machine. */
export const tcpMethods = {
  "tcp/connect": tcpMethod({
    doc: "Opens a TCP connection from the server's machine. Refused with PERMISSION_DENIED if the server requires a sandbox, or its own has no network.",
    lost: "opened",
    params: () => ({
      tcpId: TcpId(),
      host: z.string().min(1).max(253).describe("Name or address"),
      port: Port(),
      timeoutMs: optional(Unsigned()).describe("Default: 30000"),
    }),
    result: () => ({
      address: z.string().describe("Address of the other side"),
      port: Unsigned(),
    }),
  }),
  "tcp/read": tcpMethod({
    doc: "Returns what has arrived, as soon as there is something. Only one read of a connection may wait. What is not read waits in the machine's buffers, so that a slow reader slows down the sender, and nobody else.",
    params: () => ({
      tcpId: TcpId(),
      maxBytes: optional(Unsigned()).describe("Default, and most: 262144"),
    }),
    result: () => ({
      chunk: Base64(),
      ended: z.boolean().describe("The other side sends nothing more; the chunk is empty then"),
    }),
  }),
  "tcp/write": tcpMethod({
    doc: "Sends bytes, and answers when the machine has taken them. At most 4 MiB may be unanswered.",
    params: () => ({
      tcpId: TcpId(),
      chunk: Base64(),
      end: nullableFlag("Send nothing more; reading goes on. Default: false"),
    }),
    result: Empty,
  }),
  "tcp/close": tcpMethod({
    doc: "Ends a connection at once; an unknown id is not an error.",
    params: () => ({ tcpId: TcpId() }),
    result: Empty,
  }),
};
