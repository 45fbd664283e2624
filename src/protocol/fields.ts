import * as z from "zod";
import { schema } from "./define.ts";
import { MAX_ID_CHARACTERS } from "./wire-limits.ts";

// Schemas describe the wire and nothing else: no defaults, no coercion. Accepted values reach the handler unchanged.

const MAX_U64 = 2 ** 64;

/**
 * Unsigned 64-bit on the wire. Digits above 2^53 are lost, so the maximum, which peers send for "no limit", reads as
 * 2^64.
 */
export const Unsigned = schema(() =>
  z
    .number({ error: (issue) => (issue.input === undefined ? undefined : "invalid number") })
    .refine((value) => Number.isInteger(value) && value >= 0 && value <= MAX_U64, "invalid number"),
);

export const Seq = schema(() =>
  Unsigned().describe("Event number within one process, starting at 1 without gaps"),
);

/** Permissions of a file. */
export const FileMode = schema(() =>
  Unsigned()
    .refine((value) => value <= 0o7777, "invalid file mode")
    .describe("Permission bits as a number, at most 4095 (octal 7777)"),
);

/** Not `z.base64()`: it costs more than decoding. The bytes are checked where they are decoded. */
export const Base64 = schema(() => z.string().describe("Standard base64 with padding"));

/** Scheme and shape are checked where the path is used, because the error depends on the method. */
export const PathUri = schema(() =>
  z
    .string()
    .describe("`file:` URI of an absolute path. This server also accepts the plain path; Codex refuses it"),
);

/** An id that the client chooses. */
export const chosenId = (scope: string) =>
  z
    .string()
    .max(MAX_ID_CHARACTERS, `an id has at most ${MAX_ID_CHARACTERS} characters`)
    .describe(`Chosen by the client; ${scope}; at most ${MAX_ID_CHARACTERS} characters`);

export const ProcessId = schema(() => chosenId("unique within its session"));

export const Empty = schema(() => z.object({}));

/** Parameters of a method without parameters: absent, null and `{}` are equivalent. */
export const NoParams = schema(() => z.union([z.null(), z.strictObject({})]));

/**
 * An object whose keys the peer chooses. Zod's own record drops `__proto__`, a valid key; this one passes every key to
 * the handler.
 */
export function record<V extends z.ZodType>(valueType: V): z.ZodType<Record<string, z.infer<V>>> {
  // The common case, sometimes with a hundred thousand values.
  const isText = valueType instanceof z.ZodString && valueType.def.checks === undefined;
  return z
    .custom<Record<string, z.infer<V>>>()
    .superRefine((input: unknown, context) => {
      if (typeof input !== "object" || input === null || Array.isArray(input)) {
        context.addIssue({ code: "invalid_type", expected: "record", input });
        return;
      }
      // `Object.entries` would take three times as long.
      for (const name of Object.keys(input)) {
        const value = (input as Readonly<Record<string, unknown>>)[name];
        if (isText && typeof value === "string") continue;
        const issue = valueType.safeParse(value).error?.issues[0];
        if (issue === undefined) continue;
        context.addIssue({ ...issue, path: [name, ...issue.path] });
        // Report only the first fault.
        return;
      }
    })
    .meta({ valueType });
}

export const optional = <T extends z.ZodType>(schema: T) => schema.nullable().optional();

/** True or false, or absent. */
export const flag = (doc: string) => z.boolean().optional().describe(doc);

/** The same, or null. */
export const nullableFlag = (doc: string) => optional(z.boolean()).describe(doc);
