import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ServerKind } from "../conformance/server-process.ts";
import { pollUntil } from "../fault/deadline.ts";
import { runSeed, SeededRandom } from "../fault/seeded-random.ts";
import { FAULTS, type Fault, type Leg } from "../relay/leg-proxy.ts";
import { RelayProgram } from "../relay/relay-program.ts";
import { body, lines, sessionIn } from "./codex-output.ts";
import { runCodex } from "./codex-run.ts";
import { call, MockModel } from "./mock-model.ts";

/** RELAY_FAULT_ROUNDS=20 is the long form; FAULT_SEED repeats a run. */
const rounds = Number(process.env["RELAY_FAULT_ROUNDS"] ?? 0);
const CLIENTS = 4;
const DEADLINE_MS = 60_000;
/** What the real client waits for a connection that is lost, and what a silent one takes until it is noticed. */
const LONGEST_OUTAGE_MS = 10_000;
/** Codex's executor takes 80 s to notice that nothing comes any more. */
const BACK_MS = 120_000;
/** What the real client says when it asks a registry that is down. It asks once, whoever serves it. */
const GIVES_UP =
  "failed to resume exec-server session: environment registry request failed: error sending request";

let relay: RelayProgram;
let root: string;

beforeEach(async () => {
  relay = await RelayProgram.start();
  // Not under the system's temporary directory: the client behaves differently when its home is there.
  root = await mkdtemp("/var/tmp/exec-server-relay-");
});

afterEach(async () => {
  await relay[Symbol.asyncDispose]();
  await rm(root, { recursive: true, force: true });
});

/** Has the real client run a command that counts, and returns what it saw. */
async function count(name: string, to: number): Promise<{ text: string; last: string }> {
  const home = join(root, name);
  await mkdir(home);
  const cmd = `for n in $(seq ${to}); do echo "line $n"; echo "$n" > counted; sleep 0.1; done; exit 7`;
  await using model = await MockModel.start([
    call("exec_command", { cmd, yield_time_ms: 30_000 }),
    ...Array.from(
      { length: 3 },
      () => (outputs: readonly { text: string }[]) =>
        outputs.at(-1)!.text.includes("Process exited")
          ? call("exec_command", { cmd: "true" })
          : call("write_stdin", {
              session_id: sessionIn(outputs[0]!.text),
              chars: "",
              yield_time_ms: 30_000,
            }),
    ),
  ]);
  const exit = await runCodex({
    home,
    workspace: home,
    modelOrigin: model.origin,
    environment: { variables: relay.clientVariables("there") },
  });
  expect(exit.code, exit.stderr).toBe(0);
  const texts = model.outputs.map(({ text }) => text);
  const end = texts.findIndex((text) => text.includes("Process exited"));
  return {
    text: texts
      .slice(0, end + 1)
      .map(body)
      .join(""),
    last: texts[end] ?? texts.join("\n"),
  };
}

/** Waits until a client's command has counted so far. */
const counted = (name: string, to: number): Promise<unknown> =>
  pollUntil(
    async () => Number(await readFile(join(root, name, "counted"), "utf8").catch(() => 0)) >= to,
    DEADLINE_MS,
    () => `${name} to count to ${to}`,
  );

async function restart(outageMs: number): Promise<void> {
  await relay.kill();
  await delay(outageMs);
  await relay.start();
}

describe.each<ServerKind>(["ours", "codex"])(
  "codex exec through a bad relay, on an executor of kind %s",
  (kind) => {
    it("loses nothing when each leg is cut, and the relay is killed", async () => {
      await relay.executor(kind, "there");
      const counting = count("one", 40);
      await counted("one", 5);
      relay.proxy.disturb("client", "cut");
      await counted("one", 12);
      // On a slow machine, the client may still be on its way back.
      await pollUntil(
        () => relay.proxy.isBusy("client"),
        DEADLINE_MS,
        () => "the client to be back",
      );
      const used = relay.proxy.used.client;
      relay.proxy.disturb("executor", "cut");
      // A client whose request to the registry breaks off, or is refused, while the relay is down does not ask again.
      await pollUntil(
        () => relay.proxy.used.client > used && relay.proxy.isBusy("client"),
        DEADLINE_MS,
        () => "the client's new stream",
      );
      await relay.replace();
      expect(await counting).toEqual({
        text: lines(1, 40),
        last: expect.stringContaining("exited with code 7") as string,
      });
    });
  },
);

describe.runIf(rounds > 0).each<ServerKind>(["ours", "codex"])(
  "codex exec for long, on an executor of kind %s",
  (kind) => {
    it(`${rounds} rounds of a fault at a random moment`, { timeout: rounds * 200_000 }, async () => {
      await relay.executor(kind, "there");
      const random = new SeededRandom(runSeed);
      const losses: string[] = [];
      const faults: ("kill" | readonly [Leg, Fault])[] = [
        "kill",
        ...(["executor", "client"] as const).flatMap((leg) => FAULTS.map((fault) => [leg, fault] as const)),
      ];
      for (let round = 0; round < rounds; round += 1) {
        const fault = faults[round % faults.length]!;
        await pollUntil(
          () => relay.isOnline("there"),
          BACK_MS,
          () => "the executor to be back",
        );
        const names = Array.from({ length: CLIENTS }, (_, client) => `${round}-${client}`);
        const counting = Promise.all(names.map((name) => count(name, 150).catch(String)));
        await Promise.all(names.map((name) => counted(name, 1)));
        await delay(random.between(0, 6_000));
        if (fault === "kill") await restart(random.between(0, LONGEST_OUTAGE_MS));
        else relay.proxy.disturb(...fault);
        const begun = performance.now();
        const results = await counting;
        const wrong = results.filter(
          (each) => typeof each === "string" || each.text !== lines(1, 150) || !each.last.includes("code 7"),
        );
        const seconds = ((performance.now() - begun) / 1000).toFixed(1);
        // Between the two real peers, a command is lost, too, when nothing comes from the executor any more.
        const isBeyondHelp = kind === "codex" && fault[0] === "executor" && fault[1] !== "cut";
        const lost = wrong.filter(
          (each) =>
            !isBeyondHelp && (fault !== "kill" || typeof each === "string" || !each.last.includes(GIVES_UP)),
        );
        const gaveUp = wrong.length - lost.length;
        process.stdout.write(
          `${JSON.stringify({ kind, round, fault, seconds, gaveUp, lost: lost.length })}\n`,
        );
        if (lost.length > 0) losses.push(`round ${round}, ${String(fault)}: ${JSON.stringify(lost)}`);
        relay.proxy.heal();
      }
      expect(losses).toEqual([]);
    });
  },
);
