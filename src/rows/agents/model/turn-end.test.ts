import { describe, expect, it } from "vitest";
import { turnEndOf } from "./turn-end.ts";

const OWN = "turn-a";
const ended = (type: string, more: object = {}) => ({
  type: `response.${type}`,
  response: { id: OWN, ...more },
});

it("the end of another turn does not end a turn", () => {
  for (const type of ["completed", "failed", "incomplete", "cancelled"])
    expect(turnEndOf(ended(type), "turn-b")).toBeUndefined();
});

it("a turn ends completed or failed", () => {
  expect(turnEndOf(ended("completed"), OWN)).toEqual({ status: "completed" });
  expect(turnEndOf(ended("failed", { error: { message: "synthetic" } }), OWN)).toEqual({
    status: "failed",
    error: "the model's turn failed: synthetic",
    retry: false,
  });
});

it("a turn ends interrupted, which is no failure of the model", () => {
  expect(turnEndOf(ended("cancelled"), OWN)).toMatchObject({ status: "interrupted" });
  const cut = ended("incomplete", { incomplete_details: { reason: "max_output_tokens" } });
  expect(turnEndOf(cut, OWN)).toEqual({
    status: "interrupted",
    error: "the model's turn was cut off: max_output_tokens",
  });
});

describe("an endpoint", () => {
  it("that does not name its response means the turn that was asked for", () => {
    expect(turnEndOf({ type: "response.completed", response: {} }, OWN)).toEqual({ status: "completed" });
    expect(turnEndOf(ended("completed"), undefined)).toEqual({ status: "completed" });
  });

  it("may say that a failure passes", () => {
    const failed = (code: string) => turnEndOf(ended("failed", { error: { code, message: "no" } }), OWN);
    expect(failed("rate_limit_exceeded")).toMatchObject({ retry: true });
    expect(failed("invalid_prompt")).toMatchObject({ retry: false });
    expect(turnEndOf({ type: "error", code: "server_error", message: "x\ny" }, OWN)).toEqual({
      status: "failed",
      error: "the model's turn failed: x y",
      retry: true,
    });
  });

  it("that sends anything else ends no turn", () => {
    const others = [null, 1, "x", [], {}, { type: 5 }, { type: "response.completed" }, ended("created")];
    for (const event of others) expect(turnEndOf(event, OWN)).toBeUndefined();
  });
});
