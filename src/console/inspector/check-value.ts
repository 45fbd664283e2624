import { isObject, type Json, type JsonPath, pathText } from "./json-path.ts";
import type { Shape, ShapeOf } from "./wire-table.ts";

/** Problems by the path of the value as text. */
export type Problems = ReadonlyMap<string, string>;

/** Checks parameters against the protocol. The server decides; this shows the problem earlier, at the field. */
export function checkValue(shape: Shape, value: Json): Problems {
  const problems = new Map<string, string>();
  check(shape, value, [], (path, text) => problems.set(pathText(path), text));
  return problems;
}

type Report = (path: JsonPath, text: string) => void;

function check(shape: Shape, value: Json, path: JsonPath, report: Report): void {
  if (value === null && shape.nullable) return;
  switch (shape.kind) {
    case "any":
      return;
    case "none":
      if (value !== null && !(isObject(value) && Object.keys(value).length === 0))
        report(path, "This method takes no parameters: use null or {}.");
      return;
    case "switch":
      if (typeof value !== "boolean") report(path, "Must be true or false.");
      return;
    case "text":
      if (typeof value !== "string") report(path, "Must be text.");
      else if (shape.format === "base64" && !isBase64(value)) report(path, "Is not base64 with padding.");
      return;
    case "number":
      return checkNumber(shape, value, path, report);
    case "choice":
      if (!shape.values.includes(value as string))
        report(path, `Must be ${shape.values.map((each) => JSON.stringify(each)).join(" or ")}.`);
      return;
    case "list":
      if (!Array.isArray(value)) report(path, "Must be a list.");
      else value.forEach((item, index) => check(shape.item, item, [...path, index], report));
      return;
    case "map":
      if (!isObject(value)) return report(path, "Must be an object.");
      for (const [name, each] of Object.entries(value)) check(shape.value, each, [...path, name], report);
      return;
    case "object":
      return checkObject(shape, value, path, report);
    case "union": {
      const option = shape.options[optionOf(shape, value)];
      if (option === undefined) report(path, "Does not match any of the allowed forms.");
      else check(option, value, path, report);
    }
  }
}

function checkObject(shape: ShapeOf<"object">, value: Json, path: JsonPath, report: Report): void {
  if (!isObject(value)) return report(path, "Must be an object.");
  for (const { name, required, shape: member } of shape.members) {
    const memberPath = [...path, name];
    if (Object.hasOwn(value, name)) check(member, value[name], memberPath, report);
    else if (required && !member.nullable) report(memberPath, "Is required.");
  }
}

function checkNumber(shape: ShapeOf<"number">, value: Json, path: JsonPath, report: Report): void {
  const { whole, least, most } = shape;
  if (typeof value !== "number" || (whole && !Number.isInteger(value)))
    report(path, `Must be a ${whole ? "whole " : ""}number.`);
  else if (least !== undefined && value < least) report(path, `Must be ${least} or more.`);
  else if (most !== undefined && value > most) report(path, `Must be ${most} or less.`);
}

/**
 * The form of a union that a value has: the first one that it matches, otherwise the one that its first member names.
 */
export function optionOf({ options }: ShapeOf<"union">, value: Json): number {
  const fitting = options.findIndex((option) => checkValue(option, value).size === 0);
  if (fitting >= 0) return fitting;
  return options.findIndex((option) => {
    const first = option.kind === "object" ? option.members[0] : undefined;
    return (
      first?.shape.kind === "choice" &&
      isObject(value) &&
      first.shape.values.includes(value[first.name] as string)
    );
  });
}

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

function isBase64(text: string): boolean {
  return text.length % 4 === 0 && BASE64.test(text);
}
