import { expect, test } from "vitest";
import { LeanParser } from "./lean-parser.ts";

const SAID = Buffer.concat([
  Buffer.from('INFO {"server_id":"x"}\r\nPING\r\n'),
  Buffer.from("MSG _INBOX.a.b 12 5\r\nhello\r\n"),
  Buffer.from("MSG exec.a.dial 3 _INBOX.r.s 4\r\n\r\n\r\n\r\n"),
  Buffer.from("HMSG _INBOX.a.b 12 16 16\r\nNATS/1.0 503\r\n\r\n\r\n"),
  Buffer.from("MSG x 1 0\r\n\r\nMSG x 1 7\r\nMSG x 1\r\n"),
  Buffer.from("HMSG x 1 _INBOX.q.w 12 17\r\nNATS/1.0\r\n\r\nPING\n\r\n"),
  Buffer.from("-ERR 'Permissions Violation for Publish to \"x\"'\r\n+OK\r\nPONG\r\n"),
]);

/** What comes out of what a server says, in parts of this length. */
function parsed(partBytes: number): { messages: unknown[]; rest: string } {
  const messages: unknown[] = [];
  let rest = "";
  const library = { parse: (bytes: Uint8Array) => void (rest += Buffer.from(bytes).toString()) };
  const parser = new LeanParser(library, ({ subject, sid, reply, headerSize, size }, data) =>
    messages.push([subject, sid, reply, headerSize, size, data.toString()]),
  );
  for (let at = 0; at < SAID.length; at += partBytes) parser.parse(SAID.subarray(at, at + partBytes));
  return { messages, rest };
}

test("messages are taken out, and the rest is the library's, however it arrives", () => {
  for (let bytes = 1; bytes <= SAID.length; bytes += 1)
    expect(parsed(bytes)).toEqual({
      messages: [
        ["_INBOX.a.b", 12, undefined, 0, 5, "hello"],
        ["exec.a.dial", 3, "_INBOX.r.s", 0, 4, "\r\n\r\n"],
        ["_INBOX.a.b", 12, undefined, 16, 16, "NATS/1.0 503\r\n\r\n"],
        ["x", 1, undefined, 0, 0, ""],
        ["x", 1, undefined, 0, 7, "MSG x 1"],
        ["x", 1, "_INBOX.q.w", 12, 17, "NATS/1.0\r\n\r\nPING\n"],
      ],
      rest:
        'INFO {"server_id":"x"}\r\nPING\r\n' +
        "-ERR 'Permissions Violation for Publish to \"x\"'\r\n+OK\r\nPONG\r\n",
    });
});

test("a new connection begins without what the last one had not finished", () => {
  const messages: string[] = [];
  const nobody = { parse: () => {} };
  const parser = new LeanParser(nobody, (_, data) => messages.push(data.toString()));
  for (const cut of ["MSG x 1 100\r\nhalf", "MSG x 1", "HMSG x 1 12 100\r\nNATS"]) {
    parser.parse(Buffer.from(cut));
    parser.begin(nobody);
    parser.parse(Buffer.from("MSG x 1 2\r\nok\r\n"));
  }
  expect(messages).toEqual(["ok", "ok", "ok"]);
});

test.each([
  ...["MSG x 1 -1", "MSG x 1 many", "MSG x 1 99999999999", "MSG x 1 0x10", "MSG x 1 1e3"].map(impossibleSize),
  ...["HMSG x 1 2 1e99", "HMSG x 1 many 12"].map(impossibleSize),
  ...["MSG x 1", "MSG x 1 ", "MSG 1", "MSG x 1 a b 1", "HMSG x 1 2", "HMSG x 1 13 12"].map(cannotBe),
])("a message that cannot be is refused: %j", (line, reason) => {
  const parser = new LeanParser({ parse: () => {} }, () => {});
  expect(() => parser.parse(Buffer.from(`${line}\r\n`))).toThrow(reason);
});

function impossibleSize(line: string): [string, string] {
  return [line, "impossible size"];
}

function cannotBe(line: string): [string, string] {
  return [line, "cannot be"];
}

test("a line without an end is refused, and not collected", () => {
  const parser = new LeanParser({ parse: () => {} }, () => {});
  const part = Buffer.alloc(256 * 1024, "x");
  for (let count = 0; count < 4; count++) parser.parse(part);
  expect(() => parser.parse(part)).toThrow("impossible length");
});
