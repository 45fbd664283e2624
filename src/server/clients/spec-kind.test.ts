import { expect, it } from "vitest";
import type { ServerLimits } from "../settings/limits.ts";
import { checkSpecKind } from "./start-process.ts";

it.each([
  [true, true, []],
  [true, false, ["prepared"]],
  [false, true, [undefined, null, "direct"]],
  [false, false, [undefined, null, "direct", "prepared"]],
] as const)(
  "with direct starts %j and prepared ones %j, these are refused: %j",
  (direct, prepared, refused) => {
    const limits = { allowDirectExec: direct, allowPreparedExec: prepared } as ServerLimits;
    const isRefused = (kind: Parameters<typeof checkSpecKind>[0]): boolean => {
      try {
        checkSpecKind(kind, limits);
        return false;
      } catch {
        return true;
      }
    };
    expect(([undefined, null, "direct", "prepared"] as const).filter(isRefused)).toEqual(refused);
  },
);
