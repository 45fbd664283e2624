import { expect, it } from "vitest";
import { ConnectionError } from "../../client/browser.ts";
import { describeError, describeFailure } from "./describe-error.ts";

it.each([
  ["no such file: /x", "No such file: /x"],
  ["fs/readFile cannot be sent", "fs/readFile cannot be sent"],
  ["exec-server is not there", "exec-server is not there"],
  ["path.txt is a directory", "path.txt is a directory"],
  ["a\u202eb", "a\\u202eb"],
  ["", ""],
])("the error %j is told as %j", (message, text) => {
  expect(describeError(new Error(message)).text).toBe(text);
});

it("a lost session is reported without the words of the wire", () => {
  const lost = new ConnectionError("transport disconnected; unknown session id x", { code: "SESSION_LOST" });
  expect(describeError(lost)).toEqual({
    text: "The server was restarted before it answered.",
    remedy: "The page reconnects by itself. Try again then.",
  });
});

it("a failure names what was not done", () => {
  const failure = describeFailure("a.txt was not renamed", new Error("no such file: /x"));
  expect(failure).toEqual({ text: "a.txt was not renamed: No such file: /x", remedy: undefined });
});
