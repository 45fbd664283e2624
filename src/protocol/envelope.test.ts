import * as fc from "fast-check";
import { userTime } from "../../test/fixtures/user-time.ts";
import { afterEach, describe, expect, it, vi } from "vitest";
import {
  checkWireError,
  formatError,
  formatNotification,
  formatRequest,
  formatResponse,
  MalformedMessageError,
  parseMessage,
} from "./envelope.ts";
import { MAX_JSON_VALUES } from "./wire-limits.ts";

afterEach(() => void vi.restoreAllMocks());

/** Simulates an older browser without `isWellFormed`. */
function withoutBuiltIn(): void {
  vi.spyOn(String.prototype as unknown as { isWellFormed: () => unknown }, "isWellFormed").mockReturnValue(
    undefined,
  );
}

const request = (id: string, rest = ""): string => `{"id":${id},"method":"m"${rest}}`;

describe("parseMessage", () => {
  it("recognizes the kinds of messages by their members", () => {
    expect(parseMessage('{"id":1,"method":"m","params":{"a":1}}')).toEqual({
      kind: "request",
      id: "1",
      method: "m",
      params: { a: 1 },
    });
    expect(parseMessage('{"method":"n"}')).toEqual({ kind: "notification", method: "n", params: null });
    expect(parseMessage('{"id":"x","result":0}')).toEqual({ kind: "response", id: '"x"', result: 0 });
    expect(parseMessage('{"id":2,"error":{"code":-1,"message":"no"}}')).toEqual({
      kind: "error",
      id: "2",
      error: { code: -1, message: "no" },
    });
  });

  it.each(["0", '""', "-7", "9007199254740993", "9223372036854775807", "-9223372036854775808", '"\\u0041"'])(
    "keeps the id %s as it was written",
    (id) => {
      expect(parseMessage(request(id))).toMatchObject({ kind: "request", id });
    },
  );

  it.each(["1.0", "1e2", "9223372036854775808", "-9223372036854775809", "null", "true", "[1]", "{}"])(
    "refuses the id %s",
    (id) => {
      expect(() => parseMessage(request(id))).toThrow(
        new MalformedMessageError("data did not match any variant of untagged enum RequestId"),
      );
    },
  );

  it("reads the id -0 as 0", () => {
    expect(parseMessage(request("-0"))).toMatchObject({ id: "0" });
  });

  it("takes no longer to refuse an id of millions of digits than to read them elsewhere", () => {
    const digits = "1".repeat(8_000_000);
    const elsewhere = userTime(() => parseMessage(request("1", `,"params":${digits}`)));
    const asId = userTime(() => expect(() => parseMessage(request(digits))).toThrow(/RequestId/));
    // Converting them takes more than twenty times as long.
    expect(asId).toBeLessThan(8 * elsewhere + 200);
  });

  it("takes the id of the outermost object only", () => {
    expect(parseMessage('{"params":{"id":"inner"},"method":"m","id":5}')).toMatchObject({ id: "5" });
    expect(parseMessage('{"params":[{"id":1}],"method":"m"}')).toMatchObject({ kind: "notification" });
  });

  it.each([
    ["not json", /not valid JSON|Unexpected token/],
    ["", /Unexpected end/],
    ["[]", /expected a JSON-RPC object/],
    ["3", /expected a JSON-RPC object/],
    ["{}", /missing field `error`/],
    ['{"id":81}', /missing field `error`/],
    ['{"id":1,"result":0,"method":null}', /invalid type: null, expected a string/],
    ['{"id":1,"method":[]}', /invalid type: sequence, expected a string/],
    ['{"id":1,"method":{}}', /invalid type: map, expected a string/],
    ['{"method":true}', /invalid type: boolean, expected a string/],
    ['{"result":1}', /missing field `id`/],
    ['{"id":1,"method":5}', /invalid type: number, expected a string/],
    ['{"id":1,"method":"m","trace":"bad"}', /invalid type: string "bad", expected struct W3cTraceContext/],
    ['{"id":1,"id":2,"method":"m"}', /duplicate JSON object key `id` at line 1 column 12/],
    ['{"id":1,"method":"m","params":{"a":1,"\\u0061":2}}', /duplicate JSON object key `a`/],
  ])("refuses %j", (text, message) => {
    expect(() => parseMessage(text)).toThrow(MalformedMessageError);
    expect(() => parseMessage(text)).toThrow(message);
  });

  it.each([
    ["a value", '"\\ud800"'],
    ["the second half alone", '"a\\uDC00"'],
    ["two first halves", '"\\ud83d\\ud83d"'],
    ["a list", '[1,null,["\\ud800"]]'],
    ["a member", '{"a":null,"b":{"c":"\\udfff"}}'],
    ["a key", '{"\\ud800":1}'],
    ["long text", `"${"x".repeat(100_000)}\\ud800"`],
  ])("refuses half of a surrogate pair in %s, with and without the built-in check", (_, params) => {
    const parse = (): unknown => parseMessage(request("1", `,"params":${params}`));
    expect(parse).toThrow(new MalformedMessageError("lone surrogate in a string"));
    withoutBuiltIn();
    expect(parse).toThrow(new MalformedMessageError("lone surrogate in a string"));
  });

  it("takes escapes and whole surrogate pairs, with and without the built-in check", () => {
    const text = request("1", ',"params":["\\ud83d\\ude00","😀",{"\\n\\u00e4":"\\\\ud800"}]');
    const params = ["😀", "😀", { "\nä": "\\ud800" }];
    expect(parseMessage(text)).toMatchObject({ params });
    withoutBuiltIn();
    expect(parseMessage(text)).toMatchObject({ params });
  });

  describe("trace", () => {
    const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    const parse = (trace: unknown) => parseMessage(request("1", `,"trace":${JSON.stringify(trace)}`));

    it("tells where a request belongs", () => {
      expect(parse({ traceparent, tracestate: "a=b" })).toEqual({
        kind: "request",
        id: "1",
        method: "m",
        params: null,
        traceparent,
      });
    });

    it.each([null, [], [1], {}, { traceparent: null, tracestate: null }, { traceparent: `${traceparent}x` }])(
      "is taken without that: %j",
      (trace) => {
        expect(parse(trace)).toEqual({ kind: "request", id: "1", method: "m", params: null });
      },
    );

    it.each([
      [7, "invalid type: number, expected struct W3cTraceContext"],
      [{ traceparent: 7 }, "invalid type: number, expected a string"],
      [{ tracestate: [] }, "invalid type: sequence, expected a string"],
    ])("is refused as %j", (trace, message) => {
      expect(() => parse(trace)).toThrow(new MalformedMessageError(message));
    });
  });

  it("finds a repeated key in a large object", () => {
    const members = Array.from({ length: 50 }, (_, index) => `"k${index}":0`);
    expect(parseMessage(request("1", `,"params":{${members.join(",")}}`))).toMatchObject({ kind: "request" });
    expect(() => parseMessage(request("1", `,"params":{${members.join(",")},"k7":1}`))).toThrow(/duplicate/);
  });

  it("allows as many JSON values as the limit says and not one more", () => {
    // The object, its id, its method and the array are four.
    const list = (count: number): string => `[${"0,".repeat(count - 1)}0]`;
    expect(parseMessage(request("1", `,"params":${list(MAX_JSON_VALUES - 4)}`)).kind).toBe("request");
    expect(() => parseMessage(request("1", `,"params":${list(MAX_JSON_VALUES - 3)}`))).toThrow(
      /exceeds the limit of 262144 JSON values/,
    );
  });

  it("reads whatever JSON.stringify writes", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.integer(), (params, id) => {
        const text = JSON.stringify({ params, method: "m", id }, null, id % 3);
        expect(parseMessage(text)).toEqual({
          kind: "request",
          id: String(id),
          method: "m",
          params: JSON.parse(JSON.stringify(params)),
        });
      }),
    );
  });
});

it.each([
  [undefined, "missing field `error`"],
  [null, "invalid type: null, expected an error object"],
  ["no", "invalid type: string, expected an error object"],
  [{}, "missing field `code`"],
  [{ message: "no" }, "missing field `code`"],
  [{ code: 1 }, "missing field `message`"],
  [{ code: 1.5, message: "no" }, "invalid error object"],
  [{ code: "1", message: "no" }, "invalid error object"],
  [{ code: 1, message: null }, "invalid error object"],
])("%j is not an error of the wire", (error, message) => {
  expect(() => checkWireError(error)).toThrow(new MalformedMessageError(message));
});

it("a request and a notification are written as a peer reads them", () => {
  expect(formatRequest('"a"', 'm"', { b: 1 })).toBe('{"id":"a","method":"m\\"","params":{"b":1}}');
  expect(formatRequest("7", "m", undefined)).toBe('{"id":7,"method":"m","params":null}');
  expect(formatNotification("n", { b: [] })).toBe('{"method":"n","params":{"b":[]}}');
});

it("an answer has the members of the wire in their order, and no more", () => {
  expect(formatResponse("7", '{"a":1}')).toBe('{"id":7,"result":{"a":1}}');
  expect(formatError("-1", { code: -32600, message: "no" })).toBe(
    '{"error":{"code":-32600,"message":"no"},"id":-1}',
  );
});
