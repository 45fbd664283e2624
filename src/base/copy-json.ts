import { Base64Bytes } from "./base64-bytes.ts";

/** A value as it would be after a round trip through JSON, with the approximate length of that JSON. */
export interface JsonCopy {
  readonly value: unknown;
  readonly bytes: number;
}

/** Copies a value as JSON would, without producing text. Throws a TypeError for values that JSON cannot represent. */
export function copyJson(value: unknown): JsonCopy {
  let bytes = 0;

  function copy(from: unknown): unknown {
    switch (typeof from) {
      case "string":
        bytes += from.length + 2;
        return from;
      case "number":
        bytes += 8;
        return Number.isFinite(from) ? from : null;
      case "boolean":
        bytes += 5;
        return from;
      case "undefined":
        return undefined;
      case "object":
        return from === null ? null : copyObject(from);
      case "bigint":
      case "function":
      case "symbol":
        throw new TypeError(`a ${typeof from} cannot be sent`);
    }
  }

  function copyObject(from: object): unknown {
    bytes += 2;
    if (from instanceof Base64Bytes) return copy(from.toJSON());
    if (Array.isArray(from)) return from.map((item) => copy(item) ?? null);
    const prototype: unknown = Object.getPrototypeOf(from);
    if (prototype !== Object.prototype && prototype !== null)
      throw new TypeError(`a ${from.constructor.name} cannot be sent`);
    const to: Record<string, unknown> = {};
    for (const [name, member] of Object.entries(from)) {
      if (member === undefined) continue;
      bytes += name.length + 3;
      // Like JSON.parse: such a member is data, not a prototype.
      if (name === "__proto__") Object.defineProperty(to, name, { ...DATA, value: copy(member) });
      else to[name] = copy(member);
    }
    return to;
  }

  return { value: copy(value), bytes };
}

const DATA = { configurable: true, enumerable: true, writable: true };
