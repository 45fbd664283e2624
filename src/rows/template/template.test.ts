import { describe, expect, it } from "vitest";
import { Template } from "./template.ts";

const ROW = { name: "ann", "first-name": "Ann Lee", größe: "7", _x: "{name}", __proto__x: "p" };
const fill = (text: string): string => new Template(text).textFor(ROW);

describe("a template", () => {
  it.each([
    ["{name}", "ann"],
    ["hello {name}, {first-name}!", "hello ann, Ann Lee!"],
    ["{name}{name}", "annann"],
    ["{größe}", "7"],
    ["", ""],
    ["no names", "no names"],
    ["{_x}", "{name}"],
  ])("fills %j", (text, filled) => {
    expect(fill(text)).toBe(filled);
  });

  it.each([
    "{print $1}",
    "{ name }",
    "{.name}",
    "{name:1}",
    "{}",
    "{1}",
    "{a,b}",
    "{$name}",
    '{"name": 1}',
    "{name",
    "name}",
    "}{",
    "{a b",
    "{a b}{.c}",
  ])("leaves %j as it is", (text) => {
    expect(fill(text)).toBe(text);
    expect(new Template(text).names).toEqual([]);
  });

  it.each([
    ["{{name}", "{name}"],
    ["{{", "{"],
    ["{{{name}", "{ann"],
    ["{{{{", "{{"],
    ["{{print}", "{print}"],
    ["}}", "}}"],
    ["{{ a: {name} }", "{ a: ann }"],
  ])("writes %j as %j", (text, filled) => {
    expect(fill(text)).toBe(filled);
  });

  it("refuses a plain name that is no column", () => {
    expect(() => new Template("{print}").check(["name", "age"])).toThrow(
      "{print} is not a column of the input: it has 'name', 'age'; write {{ for a literal brace",
    );
    expect(() => new Template("{toString}").check(["name"])).toThrow("{toString} is not a column");
    new Template("{name} {print $1}").check(["name"]);
  });

  it("knows which columns a row lacks", () => {
    expect(new Template("{name} {age}").missing({ name: "" })).toBe("age");
    expect(new Template("{name} {toString}").missing({ name: "" })).toBe("toString");
    expect(new Template("{name}").missing({ name: "" })).toBeUndefined();
  });
});
