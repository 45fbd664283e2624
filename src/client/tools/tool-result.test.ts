import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { HeadTail } from "../process/head-tail.ts";
import { cutToTokens, type ExecToolResult, toText } from "./tool-result.ts";

const utf8 = new TextEncoder();
const MARKER = /(^|\n)… about (\d+) tokens \((\d+) bytes\) omitted …\n/;

describe("cutToTokens", () => {
  it("keeps a beginning and an end within the budget, in whole characters, and counts the rest", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "grapheme", maxLength: 300, size: "max" }),
        fc.integer({ min: 1, max: 60 }),
        fc.integer({ min: 8, max: 400 }),
        (text, maxTokens, maxBytes) => {
          fc.pre(!text.includes("…"));
          const whole = utf8.encode(text);
          const collected = new HeadTail({ maxBytes });
          collected.push(whole);
          const cut = cutToTokens(collected, maxTokens);
          expect(cut.original_token_count).toBe(Math.ceil(whole.length / 4));
          expect(cut.omitted_tokens).toBe(Math.ceil(cut.omitted_bytes / 4));
          const marker = MARKER.exec(cut.output);
          if (whole.length <= Math.min(maxBytes, maxTokens * 4)) {
            expect(cut).toMatchObject({ output: text, omitted_bytes: 0 });
            return;
          }
          expect(marker?.slice(2)).toEqual([`${cut.omitted_tokens}`, `${cut.omitted_bytes}`]);
          const at = marker?.index ?? -1;
          const head = cut.output.slice(0, at);
          const tail = cut.output.slice(at + (marker?.[0].length ?? 0));
          // A line that ended just before the marker keeps its end, which the pattern has taken.
          const ends = [head, `${head}\n`].filter((end) => text.startsWith(end));
          const sizes = ends.map((end) => utf8.encode(end).length + utf8.encode(tail).length);
          expect(text.endsWith(tail)).toBe(true);
          expect(sizes).toContain(whole.length - cut.omitted_bytes);
          expect(whole.length - cut.omitted_bytes).toBeLessThanOrEqual(maxTokens * 4);
          expect(whole.length - cut.omitted_bytes).toBeGreaterThanOrEqual(
            Math.min(maxTokens * 4, maxBytes) - 6,
          );
        },
      ),
    );
  });
});

describe("toText", () => {
  const result: ExecToolResult = {
    output: "done\n",
    command: "make all",
    wall_time_seconds: 1.234,
    original_token_count: 2,
    omitted_tokens: 0,
    omitted_bytes: 0,
    notes: [],
  };

  it("says how a process ended", () => {
    expect(toText({ ...result, exit_code: 2 })).toBe("Exit code: 2\nWall time: 1.23 s\nOutput:\ndone\n");
  });

  it("says that a process still runs, with the command", () => {
    expect(toText({ ...result, session_id: 7, output: "" })).toBe(
      "Still running, session_id 7: make all\nWall time: 1.23 s\nNo output.",
    );
  });

  it("says what is not known", () => {
    expect(toText({ ...result, failure: "the connection was lost" })).toBe(
      "Exit code: unknown. the connection was lost\nCommand: make all\nWall time: 1.23 s\nOutput:\ndone\n",
    );
    expect(toText({ ...result, exit_code: 0, failure: "the connection was lost" })).toContain(
      "Exit code: 0\nOutput may be incomplete: the connection was lost\n",
    );
    expect(toText(result)).toContain("Exit code: unknown. The server did not say\n");
  });

  it("says what was left out, and what else there is to know", () => {
    const text = toText({
      ...result,
      exit_code: 0,
      omitted_bytes: 9,
      original_token_count: 50,
      notes: ["A.", "B."],
    });
    expect(text).toContain("Note: A.\nNote: B.\nOutput was 50 tokens; the middle is left out.\nOutput:\n");
  });
});
