import * as z from "zod";
import { methodsWith, schema } from "./define.ts";
import { Base64, Empty, nullableFlag, optional, PathUri, Unsigned } from "./fields.ts";

const TcpId = schema(() =>
  z.string().max(128).describe("Chosen by the client; unique within its connection, with which it ends"),
);

const ListenId = schema(() =>
  z.string().max(128).describe("Chosen by the client; unique within its connection, with which it ends"),
);

const Port = schema(() =>
  Unsigned().refine((value) => value >= 1 && value <= 65_535, "expected a port from 1 to 65535"),
);

const Host = schema(() => z.string().min(1).max(253).describe("Name or address"));

const remote = () => ({
  address: z.string().describe("Address of the other side; empty for a Unix socket"),
  port: Unsigned(),
});

const tcpMethod = methodsWith({
  family: "tcp",
  right: "network",
  lost: "ended",
  answers: "eventually",
  extension: true,
});

/** Connections from and to the server's machine, over TCP and Unix sockets. */
export const tcpMethods = {
  "tcp/connect": tcpMethod({
    doc: "Opens a TCP connection from the server's machine. Refused with PERMISSION_DENIED if the server requires a sandbox, or its own has no network.",
    lost: "opened",
    params: () => ({
      tcpId: TcpId(),
      host: Host(),
      port: Port(),
      timeoutMs: optional(Unsigned()).describe("Default: 30000"),
    }),
    result: remote,
  }),
  "unix/connect": tcpMethod({
    doc: "Connects to a Unix socket of the server's machine; from then on it is a TCP connection like any other. Refused like tcp/connect, and also if a sandbox confines the client's files, for a path outside the roots, and for a socket of the server itself.",
    lost: "opened",
    params: () => ({ tcpId: TcpId(), path: PathUri() }),
    result: Empty,
  }),
  "tcp/listen": tcpMethod({
    doc: "Listens on a TCP port of the server's machine, until the connection ends. Refused like tcp/connect. On a loopback address, connections of other users of the machine are cut off.",
    lost: "opened",
    params: () => ({
      listenId: ListenId(),
      host: optional(Host()).describe("Name or address to listen on. Default: 127.0.0.1"),
      port: Unsigned()
        .refine((value) => value <= 65_535, "expected a port from 0 to 65535")
        .describe("0 picks a free one"),
    }),
    result: () => ({ address: z.string().describe("Address that it listens on"), port: Unsigned() }),
  }),
  "unix/listen": tcpMethod({
    doc: "The same on a Unix socket, which is created with mode 0600 and removed at the end. Refused like unix/connect, and if the path exists.",
    lost: "opened",
    params: () => ({ listenId: ListenId(), path: PathUri() }),
    result: Empty,
  }),
  "tcp/accept": tcpMethod({
    doc: "Waits for the next connection to a listener, which becomes the TCP connection tcpId. Only one accept of a listener may wait; closing tcpId ends it. Up to 64 connections wait to be accepted, unread, and count towards maxTcpConnections; further ones are cut off.",
    params: () => ({ listenId: ListenId(), tcpId: TcpId() }),
    result: remote,
  }),
  "tcp/unlisten": tcpMethod({
    doc: "Stops listening, and cuts off the connections that were not accepted; an unknown id is not an error.",
    params: () => ({ listenId: ListenId() }),
    result: Empty,
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
