import { decodeBase64 } from "../../../src/base/base64.ts";
import { MalformedMessageError, parseMessage } from "../../../src/protocol/envelope.ts";
import { parseLongRequest } from "../../../src/rpc/attachment.ts";
import { liftLongString } from "../../../src/transport/long-string.ts";
import { attempt, expectEqual, expectTrue, type Target } from "../target.ts";

const MARK = "<long>";
const LONG = "AAAA".repeat(17_000);
const MEMBERS = {
  "fs/writeFile": "dataBase64",
  "fs/writeBlock": "chunk",
  "http/request": "bodyBase64",
} as const;

class Refused extends Error {}

/** A request whose long string is decoded from the bytes is what its text says. The mark stands for 68 000 characters. */
export const target: Target = {
  seeds: Object.entries(MEMBERS).map(
    ([method, member]) =>
      `{"id":1,"method":"${method}","params":{"path":"file:///x\\\\","${member}":"${MARK}","other":"\u00fc"}}`,
  ),
  words: [
    MARK,
    '"',
    "\\",
    '\\"',
    "<attached>",
    "\\u003c",
    `"${MARK}"`,
    `"${MARK}",`,
    '"dataBase64":',
    '"chunk":',
    "=",
    "AA==",
    "-",
    "\n",
    "{",
    "}",
  ],
  maxBytes: 1000,
  run(input) {
    const text = input.toString("utf8").replaceAll(MARK, LONG);
    const bytes = Buffer.from(text);
    const long = liftLongString(bytes);
    if (long === undefined) return;
    expectEqual(
      `${long.head}"${Buffer.from(long.value).toString()}"${long.tail}`,
      text,
      "the parts of a message",
    );
    const request = parseLongRequest(long);
    expectEqual(
      request === undefined || long.text() === text || request.attachment !== undefined,
      true,
      "attached",
    );
    if (request === undefined) {
      expectEqual(long.text(), text, "a refused message is as it was");
      return;
    }
    const parsed = attempt(() => parseMessage(text), MalformedMessageError);
    expectTrue("value" in parsed && parsed.value.kind === "request", "what is attached is a request");
    if (!("value" in parsed) || parsed.value.kind !== "request") return;
    const { id, method, params } = parsed.value;
    const member = MEMBERS[method as keyof typeof MEMBERS];
    const content = (params as Readonly<Record<string, string>>)[member]!;
    expectEqual({ id: request.id, method: request.method }, { id, method }, "the request");
    expectEqual({ ...(request.params as object), [member]: content }, params, "the other parameters");
    const decoded = decodeBase64(content, (reason) => new Refused(reason));
    expectTrue(Buffer.from(request.attachment!.bytes).equals(Buffer.from(decoded)), "the attachment");
  },
};
