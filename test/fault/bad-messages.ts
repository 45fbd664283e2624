// What protocol.md says about wrong messages, as data: what is sent, and what must come back.

const MAX_JSON_VALUES = 262_144;

/** Answered with an error of id -1; the connection stays. */
export const MALFORMED: readonly string[] = [
  "not json",
  "",
  "   ",
  "null",
  "7",
  '"text"',
  "{}",
  "[]",
  '[{"id":1,"method":"environment/status"}]',
  '{"id":81}',
  '{"id":1,"method":7}',
  '{"id":1.5,"method":"environment/status"}',
  '{"id":1.0,"method":"environment/status"}',
  '{"id":1e2,"method":"environment/status"}',
  '{"id":9223372036854775808,"method":"environment/status"}',
  '{"id":null,"method":"environment/status"}',
  '{"id":{},"method":"environment/status"}',
  '{"id":true,"method":"environment/status"}',
  '{"id":1,"id":2,"method":"environment/status"}',
  '{"id":1,"method":"environment/status","params":{"a":1,"a":2}}',
  '{"id":1,"method":"environment/status","trace":"bad"}',
  '{"id":1,"method":"environment/status"',
  '{"id":1,"method":"environment/status"}x',
  '{"id":1,"method":"environment/status",}',
  "{'id':1}",
  '{"id":1,"method":"environment/\u0001status"}',
  "[".repeat(100_000),
  `{"id":1,"method":"environment/status","params":${"[".repeat(100_000)}`,
  `{"id":1,"method":"x","params":[${"0,".repeat(MAX_JSON_VALUES)}0]}`,
];

export interface Refused {
  readonly method: string;
  readonly params?: unknown;
  readonly code: number;
}

/** Answered with an error before the handshake; the connection stays. */
export const REFUSED_BEFORE_INITIALIZE: readonly Refused[] = [
  { method: "environment/status", code: -32600 },
  { method: "environment/info", code: -32600 },
  { method: "process/terminate", params: { processId: "p" }, code: -32600 },
  { method: "process/terminate", params: {}, code: -32602 },
  { method: "no/such/method", code: -32601 },
  { method: "initialize", code: -32602 },
  { method: "initialize", params: { clientName: 7 }, code: -32602 },
  { method: "initialize", params: { clientName: "x", resumeSessionId: "none" }, code: -32600 },
  { method: "initialize", params: { clientName: "x", resumeSessionId: "" }, code: -32600 },
];

const start = {
  processId: "bad",
  argv: ["true"],
  cwd: "file:///",
  env: { PATH: "/usr/bin:/bin" },
  tty: false,
};
const without = (member: keyof typeof start): object =>
  Object.fromEntries(Object.entries(start).filter(([name]) => name !== member));
const refusedStart = (change: object, code: number): Refused => ({
  method: "process/start",
  params: { ...start, ...change },
  code,
});

/** Answered with an error once initialized; the connection stays. */
export const REFUSED: readonly Refused[] = [
  { method: "initialize", params: { clientName: "again" }, code: -32600 },
  { method: "no/such/method", code: -32601 },
  { method: "", code: -32601 },
  { method: "environment/status", params: [], code: -32602 },
  { method: "environment/status", params: { a: 1 }, code: -32602 },
  { method: "process/start", code: -32602 },
  { method: "process/start", params: [], code: -32602 },
  ...(Object.keys(start) as (keyof typeof start)[]).map((member) => ({
    method: "process/start",
    params: without(member),
    code: -32602,
  })),
  refusedStart({ processId: 1 }, -32602),
  refusedStart({ argv: "true" }, -32602),
  refusedStart({ argv: [1] }, -32602),
  refusedStart({ argv: [] }, -32602),
  refusedStart({ env: null }, -32602),
  refusedStart({ env: { A: 1 } }, -32602),
  refusedStart({ tty: "yes" }, -32602),
  refusedStart({ pipeStdin: 1 }, -32602),
  refusedStart({ envPolicy: {} }, -32602),
  refusedStart({ sandbox: {} }, -32602),
  ...["./tmp", "tmp", "", "http://x/y", "file:///tmp?x=1", "file:///tmp#x", "file:///a%00b"].map((cwd) =>
    refusedStart({ cwd }, -32602),
  ),
  ...["file://host/f", "file:///C:/x"].map((cwd) => refusedStart({ cwd }, -32602)),
  refusedStart({ cwd: "file:///no/such/directory" }, -32603),
  refusedStart({ argv: ["no-such-program"] }, -32603),
  refusedStart({ argv: ["/no/such/program"] }, -32603),
  refusedStart({ argv: ["no-such-program"], tty: true }, -32603),
  refusedStart({ argv: ["/no/such/program"], tty: true }, -32603),
  refusedStart({ argv: ["/etc/passwd"] }, -32603),
  refusedStart({ argv: [""] }, -32603),
  refusedStart({ argv: ["true", "a\u0000b"] }, -32603),
  refusedStart({ env: { A: "a\u0000b" } }, -32603),
  { method: "process/read", params: { processId: "unknown" }, code: -32600 },
  { method: "process/read", params: { processId: "unknown", afterSeq: -1 }, code: -32602 },
  { method: "process/write", params: { processId: "unknown", chunk: "YQ==", writeId: null }, code: -32602 },
  { method: "process/write", params: { processId: "unknown", chunk: "YQ==", writeId: "" }, code: -32602 },
  { method: "process/write", params: { processId: "unknown", chunk: "YQ", writeId: "1" }, code: -32602 },
  { method: "process/write", params: { processId: "unknown", chunk: "****", writeId: "1" }, code: -32602 },
  { method: "process/signal", params: { processId: "unknown", signal: "vanish" }, code: -32602 },
];

/** Each ends a connection that has been initialized, without an answer. */
export const FATAL: readonly string[] = [
  '{"method":"no/such/notification"}',
  '{"method":"process/output","params":{}}',
  '{"id":99,"result":{}}',
  '{"id":"never asked","result":null}',
  '{"id":99,"error":{"code":-32000,"message":"no"}}',
];

/** Bytes that no HTTP client sends. Each gets an HTTP error or the end of the connection, never an upgrade. */
export const NOT_AN_UPGRADE: readonly string[] = [
  "\0\0\0\0\r\n\r\n",
  "GARBAGE\r\n\r\n",
  "GET / HTTP/9.9\r\nHost: localhost\r\n\r\n",
  "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
  "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n",
  "POST /readyz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n",
  "GET /nowhere HTTP/1.1\r\nHost: localhost\r\n\r\n",
  "GET / HTTP/1.1\r\nHost: localhost\r\nno colon here\r\n\r\n",
  `GET / HTTP/1.1\r\nHost: localhost\r\nX-Long: ${"a".repeat(1_000_000)}\r\n\r\n`,
  `GET /${"a".repeat(1_000_000)} HTTP/1.1\r\nHost: localhost\r\n\r\n`,
  "GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\r\n",
  "GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: short\r\nSec-WebSocket-Version: 12\r\n\r\n",
  "GET / HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.example\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n",
];
