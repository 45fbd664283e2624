import { once } from "node:events";
import { expect, test } from "vitest";
import { connect } from "../../client/host/connect.ts";
import { createMemoryPair } from "../../transport/memory.ts";
import { type AcceptOptions, createServer } from "./server.ts";

test("the deprecated identity of a client means its principal, and warns once", async () => {
  const server = createServer({ environment: process.env });
  const warnings: (Error & { code?: string })[] = [];
  const collect = (warning: Error): unknown => warnings.push(warning);
  process.on("warning", collect);
  const warned = once(process, "warning");
  const connectWith = async (options: AcceptOptions) => {
    const [ours, theirs] = createMemoryPair();
    server.accept(theirs, options);
    return connect(ours);
  };
  try {
    const old = await connectWith({ identity: "ann" });
    const again = await connectWith({ identity: "ann" });
    const present = await connectWith({ principal: "ann" });
    const stranger = await connectWith({ principal: "bob" });
    await old.start(["sleep", "60"], { keep: "work" });
    for (const host of [again, present])
      expect(await host.processes({ scope: "kept" })).toMatchObject([{ name: "work" }]);
    expect(await stranger.processes({ scope: "kept" })).toEqual([]);
    await warned;
    expect(warnings.map(({ name, message }) => `${name}: ${message}`)).toEqual([
      "DeprecationWarning: AcceptOptions.identity is deprecated and will be removed in exec-server 0.3.0: use principal",
    ]);
    await Promise.all([old, again, present, stranger].map((host) => host.close()));
  } finally {
    process.off("warning", collect);
    await server.close();
  }
});
