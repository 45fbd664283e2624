import { parse } from "smol-toml";
import { describe, expect, it } from "vitest";
import { writeToml } from "./toml-writer.ts";

function rewrite(text: string): string {
  return writeToml(parse(text, { integersAsBigInt: true }));
}

describe("writeToml", () => {
  it("writes values before tables, and headers only where they are needed", () => {
    expect(rewrite("[a.b]\nx = {}\ny = 1\n[a.c]\n[d]\n")).toBe("[a.b]\ny = 1\n\n[a.b.x]\n\n[a.c]\n\n[d]\n");
  });

  it("gives each element of an array of tables a header", () => {
    expect(rewrite("[[x]]\n[[x]]\nb = [{c = 1}]\n")).toBe("[[x]]\n\n[[x]]\n\n[[x.b]]\nc = 1\n");
    expect(rewrite("x = [{a = 1}, 2]\n")).toBe("x = [{ a = 1 }, 2]\n");
  });

  it.each([
    ["1.0", "1.0"],
    ["1", "1"],
    ["-0.0", "-0.0"],
    ["1e20", "100000000000000000000.0"],
    ["5e22", "5e+22"],
    ["-inf", "-inf"],
    ["nan", "nan"],
    ["9007199254740993", "9007199254740993"],
    ["1979-05-27", "1979-05-27"],
    ["07:32:00", "07:32:00"],
    ["1979-05-27T07:32:00.120", "1979-05-27T07:32:00.12"],
    ["1979-05-27T00:32:00-07:00", "1979-05-27T00:32:00-07:00"],
    ["'tab\tand \"quotes\"'", '"tab\\tand \\"quotes\\""'],
  ])("writes %s as %s", (value, written) => {
    expect(rewrite(`x = ${value}\n`)).toBe(`x = ${written}\n`);
  });

  it("quotes keys that are not bare", () => {
    expect(rewrite('"a.b" = 1\n"" = 2\n')).toBe('"a.b" = 1\n"" = 2\n');
  });
});
