import { describe } from "vitest";

// One after another: both use the directories below /var/tmp and /tmp that belong to this user.

describe("with Node there", async () => {
  await import("./bundle-suite.ts");
});

describe("without Node there", async () => {
  await import("./executable-suite.ts");
});
