import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { builtCli } from "../../fault/server-under-test.ts";
import { BareMachine } from "./bare-machine.ts";

const ROUNDS = 20;

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;

test.runIf(process.env["REACH_WHOLE"] === "1")(
  "a command through what was brought costs about as much as through what is installed",
  async () => {
    await using machine = await BareMachine.start();
    machine.installNode();
    const steps = await machine.local.run(["host", "test", "ssh://machine"], { env: machine.localEnv });
    process.stdout.write(`the first connection:\n${steps.stdout}`);
    const timed = async (): Promise<number> => {
      const begun = performance.now();
      expect(await machine.run(["run", "--", "echo", "there"])).toMatchObject({ status: 0 });
      return performance.now() - begun;
    };
    const installed = join(machine.bin, "exec-server");
    const times: Record<"brought" | "installed", number[]> = { brought: [], installed: [] };
    for (let round = 0; round < ROUNDS; round += 1) {
      times.brought.push(await timed());
      writeFileSync(installed, `#!/bin/sh\nexec ${process.execPath} ${builtCli} "$@"\n`, { mode: 0o755 });
      times.installed.push(await timed());
      rmSync(installed);
    }
    const [brought, there] = [median(times.brought), median(times.installed)];
    process.stdout.write(
      `brought ${brought.toFixed(0)} ms, installed ${there.toFixed(0)} ms: ${(brought / there).toFixed(2)}\n`,
    );
    // The promise is 1.1; a busy machine differs by more from one run to the next.
    expect(brought / there).toBeLessThan(1.5);
  },
);
