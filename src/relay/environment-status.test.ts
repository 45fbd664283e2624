import { expect, test } from "vitest";
import { isEnvironmentStatus } from "./environment-status.ts";

const STATUS = { environmentId: "build-1", isOnline: true, streams: 0, token: "ann", key: "SHA256:x" };

test("an environment has all of its fields", () => {
  expect(isEnvironmentStatus(STATUS)).toBe(true);
  for (const key of Object.keys(STATUS)) {
    expect(isEnvironmentStatus({ ...STATUS, [key]: undefined })).toBe(false);
    expect(isEnvironmentStatus({ ...STATUS, [key]: [] })).toBe(false);
  }
});

test.each([null, 5, "text", [], {}])("%j is not an environment", (value) => {
  expect(isEnvironmentStatus(value)).toBe(false);
});
