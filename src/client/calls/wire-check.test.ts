import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type * as z from "zod";
import { ProtocolError } from "../../base/errors.ts";
import { type MethodName, methods, notifications } from "../../protocol/index.ts";
import { processEventOf } from "../routes/notified-events.ts";
import { checkedParams, checkedResult, type ReadNotification } from "./wire-check.ts";
import { methodFacts, notificationShapes } from "./wire-shapes.ts";

/** Any JSON, with members that the wire has and others. */
const anything = fc.jsonValue({ maxDepth: 3 });

/** A value that a schema takes. */
function valueOf(schema: z.ZodType): fc.Arbitrary<unknown> {
  const { def } = schema as unknown as { def: SchemaDef };
  switch (def.type) {
    case "string":
      return fc.oneof(fc.string(), fc.constant("__proto__"));
    case "boolean":
      return fc.boolean();
    case "number":
      return fc.integer({ min: 1, max: 2 ** 31 });
    case "enum":
      return fc.constantFrom(...Object.values(def.entries!));
    case "literal":
      return fc.constantFrom(...def.values!);
    case "nullable":
      return fc.option(valueOf(def.innerType!));
    case "optional":
      return valueOf(def.innerType!);
    case "array":
      return fc.array(valueOf(def.element!), { maxLength: 4, size: "max" });
    case "object": {
      const shape = (schema as unknown as { shape: Record<string, z.ZodType> }).shape;
      const members = Object.entries(shape).map(([key, member]) => [key, valueOf(member)] as const);
      const required = Object.keys(shape).filter((key) => shape[key]!.def.type !== "optional");
      return fc.record(Object.fromEntries(members), { requiredKeys: required });
    }
    default:
      throw new Error(`a schema of type ${def.type} has no values yet`);
  }
}

interface SchemaDef {
  readonly type: string;
  readonly entries?: Record<string, string>;
  readonly values?: readonly unknown[];
  readonly innerType?: z.ZodType;
  readonly element?: z.ZodType;
}

/** Puts something else at a random place of a value. */
const mutated = (value: unknown): fc.Arbitrary<unknown> =>
  fc.tuple(fc.nat(), fc.oneof(anything, fc.constant(undefined))).map(([place, other]) => {
    const copy = structuredClone({ value });
    const places: [Record<string, unknown>, string][] = [];
    const visit = (holder: Record<string, unknown>): void => {
      for (const key of Object.keys(holder)) {
        places.push([holder, key]);
        const member = holder[key];
        if (typeof member === "object" && member !== null) visit(member as Record<string, unknown>);
      }
    };
    visit(copy);
    const [holder, key] = places[place % places.length]!;
    if (other === undefined && !Array.isArray(holder)) delete holder[key];
    else holder[key] = other ?? null;
    return copy.value;
  });

/** The checked value, or undefined if it is refused. */
function attempt(check: () => unknown): { readonly value: unknown } | undefined {
  try {
    return { value: check() };
  } catch (error) {
    expect(error).toBeInstanceOf(ProtocolError);
    return undefined;
  }
}

const table: [string, z.ZodType, (value: unknown) => unknown][] = [
  ...Object.keys(methodFacts).map((name): (typeof table)[number] => [
    `the answer to ${name}`,
    methods[name as MethodName].result,
    (value) => checkedResult(name as MethodName, value),
  ]),
  ...Object.keys(notificationShapes).map((name): (typeof table)[number] => [
    `the notification ${name}`,
    notifications[name as ReadNotification].params,
    (value) => checkedParams(name as ReadNotification, value),
  ]),
];

describe("what servers send", () => {
  it("has a shape for every method of the table", () => {
    expect(Object.keys(methodFacts)).toEqual(Object.keys(methods));
  });

  it.each(table)(
    "%s passes as the table of the wire has it, and without other members",
    (_, schema, check) => {
      fc.assert(
        fc.property(valueOf(schema), fc.dictionary(fc.string(), anything), (value, extra) => {
          const isRecord = typeof value === "object" && value !== null;
          expect(check(isRecord ? { ...extra, ...value } : value)).toEqual(schema.parse(value));
        }),
        { numRuns: 50 },
      );
    },
  );

  it.each(table)(
    "%s is refused, or is what the table of the wire allows, whatever it holds",
    (_, schema, check) => {
      fc.assert(
        fc.property(valueOf(schema).chain(mutated), (value) => {
          const passed = attempt(() => check(value));
          // What the table accepts passes; what passes matches the table.
          if (passed !== undefined) expect(schema.safeParse(passed.value).error).toBeUndefined();
          else if (!holdsNoSeq(value)) expect(schema.safeParse(value).success).toBe(false);
        }),
        { numRuns: 200 },
      );
    },
  );

  it.each([
    ["nothing", undefined],
    ["null", null],
    ["text", "text"],
    ["a list", []],
    ["a list with members", Object.assign([], { processId: "p", seq: 1, stream: "pty", chunk: "" })],
  ])("%s is no notification of output", (_, params) => {
    expect(() => processEventOf("process/output", params)).toThrow(ProtocolError);
  });

  it("takes the same output by hand as by the table", () => {
    const { params } = notifications["process/output"];
    fc.assert(
      fc.property(valueOf(params).chain(mutated), (value) => {
        const byHand = attempt(() => processEventOf("process/output", value));
        const byTable = attempt(() => checkedParams("process/output", value));
        // Only what is decoded is looked at more closely.
        if (byTable === undefined) expect(byHand).toBeUndefined();
        else if ((byTable.value as { chunk: string }).chunk === "") expect(byHand).toBeDefined();
      }),
      { numRuns: 1000 },
    );
  });

  it("knows how little a number may be", () => {
    const used = { memoryBytes: 1, processes: 1, atMs: 1 };
    const made = { processId: "p", own: true, pid: 1, argv: [], cwd: "/", label: null, tty: false };
    const state = { hasInput: false, startedAtMs: 1, state: "running", exitCode: null };
    const listed = { ...made, ...state, outputBytes: 0, retainedBytes: 0 };
    const answer = (cpuMs: number): object => ({ processes: [{ ...listed, usage: { ...used, cpuMs } }] });
    expect(checkedResult("process/list", answer(0.5))).toEqual(answer(0.5));
    expect(() => checkedResult("process/list", answer(-0.5))).toThrow(
      "processes.0.usage.cpuMs must be a number of at least 0",
    );
  });

  it("says where the fault is, and nothing of what was sent", () => {
    const read = { chunks: [{ seq: 1, stream: "stdout", chunk: "" }, { seq: "secret" }] };
    expect(() => checkedResult("process/read", read)).toThrow(
      "the answer to process/read does not fit the protocol: chunks.1.seq must be a whole number of at least 1, not other text",
    );
    expect(() => checkedResult("process/read", {})).toThrow("chunks is missing");
    expect(() => checkedResult("process/terminate", [])).toThrow("it must be an object, not a list");
  });

  it.each([
    [null, "null"],
    [["secret"], "a list"],
    [7, "7"],
    ["secret", "other text"],
    [{ secret: 1 }, "an object"],
  ])("tells %j as %s", (running, found) => {
    expect(() => checkedResult("process/terminate", { running })).toThrow(
      `running must be true or false, not ${found}`,
    );
  });

  it("leaves out what a newer server may mean by a name that is not known, where it may be absent", () => {
    expect(checkedResult("process/start", { processId: "p", sandboxType: "newest" })).toEqual({
      processId: "p",
    });
    expect(() => checkedResult("process/write", { status: "newest" })).toThrow(ProtocolError);
  });
});

/** Numbers of events begin at 1 and are exact, which the table does not say. */
function holdsNoSeq(value: unknown): boolean {
  if (typeof value === "number") return value === 0 || !Number.isSafeInteger(value);
  return typeof value === "object" && value !== null && Object.values(value).some(holdsNoSeq);
}
