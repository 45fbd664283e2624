import { expect, it } from "vitest";
import { base64OfText, textOfBase64 } from "./base64-text.ts";
import { RequestDraft } from "./request-draft.ts";

it("the text follows the form, and the form the text", () => {
  const draft = new RequestDraft({ a: 1 });
  expect(draft.text.value).toBe('{\n  "a": 1\n}');
  draft.setText('{"a":2}');
  expect(draft.value.value).toEqual({ a: 2 });
  draft.setValue({ a: 3 });
  expect(JSON.parse(draft.text.value)).toEqual({ a: 3 });
});

it("text that is no JSON says why, and leaves the form as it was", () => {
  const draft = new RequestDraft({ a: 1 });
  draft.setText('{"a":');
  expect(draft.fault.value).toMatch(/JSON/);
  expect(draft.value.value).toEqual({ a: 1 });
  draft.setText("[]");
  expect(draft.fault.value).toBeUndefined();
});

it.each(["", "hello", "ä €\n\u{1f600}", "\ufeffmark", "x".repeat(100_000)])(
  "%.10j is given as text",
  (text) => {
    expect(textOfBase64(base64OfText(text))).toBe(text);
  },
);

it("bytes that are no text stay base64", () => {
  expect(textOfBase64("/w==")).toBeUndefined();
  expect(textOfBase64("not base64")).toBeUndefined();
});

it("text becomes the base64 of its UTF-8", () => {
  expect(base64OfText("ä€")).toBe("w6Tigqw=");
});
