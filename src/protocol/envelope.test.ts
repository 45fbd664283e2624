import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatError, formatResponse, MalformedMessageError, parseMessage } from "./envelope.ts";
import { MAX_JSON_VALUES } from "./wire-limits.ts";

const request = (id: string, rest = ""): string => `{"id":${id},"method":"m"${rest}}`;

describe("parseMessage", () => {
  it("tells the kinds of messages by their members", () => {
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
    ['{"result":1}', /missing field `id`/],
    ['{"id":1,"method":5}', /invalid type: number, expected a string/],
    ['{"id":1,"method":"m","trace":"bad"}', /invalid type: string "bad", expected struct W3cTraceContext/],
    ['{"id":1,"id":2,"method":"m"}', /duplicate JSON object key `id` at line 1 column 12/],
    ['{"id":1,"method":"m","params":{"a":1,"\\u0061":2}}', /duplicate JSON object key `a`/],
  ])("refuses %j", (text, message) => {
    expect(() => parseMessage(text)).toThrow(MalformedMessageError);
    expect(() => parseMessage(text)).toThrow(message);
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

it("an answer has the members of the wire in their order, and no more", () => {
  expect(formatResponse("7", '{"a":1}')).toBe('{"id":7,"result":{"a":1}}');
  expect(formatError("-1", { code: -32600, message: "no" })).toBe(
    '{"error":{"code":-32600,"message":"no"},"id":-1}',
  );
});
