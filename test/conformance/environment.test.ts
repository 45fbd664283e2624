import { expect } from "vitest";
import { verifies } from "./verifies.ts";

verifies("environment.status:ready", async ({ peer }) => {
  const connection = await peer();
  expect(await connection.request("environment/status")).toEqual({ status: "ready" });
});
