import { constants } from "node:os";
import { describe, expect, it } from "vitest";
import { describeExit, type Killer } from "./exit-report.ts";

const MEBIBYTE = 1024 * 1024;
const usage = { userMs: 3, systemMs: 4, peakMemoryBytes: 0 };
const cpuTimeMs = { user: 3, system: 4 };

function describeEnd(
  end: { exitCode: number; signal?: number },
  sent: readonly [string, Killer][] = [],
  timedOut = false,
) {
  const senders = sent.length === 0 ? undefined : new Map(sent);
  return describeExit({ signal: undefined, ...end, usage }, { senders, timedOut });
}

describe("the report of an exit", () => {
  it("has nothing but times for an exit of its own accord", () => {
    expect(describeEnd({ exitCode: 0 })).toEqual({ cpuTimeMs });
    expect(describeEnd({ exitCode: 3 }, [["SIGTERM", "client"]])).toEqual({ cpuTimeMs });
  });

  it("names the signal, and its sender if that is known", () => {
    const { SIGTERM, SIGABRT } = constants.signals;
    const ended = { exitCode: 128 + SIGTERM, signal: SIGTERM };
    expect(describeEnd(ended)).toEqual({ signal: "SIGTERM", cpuTimeMs });
    expect(describeEnd(ended, [["SIGKILL", "client"]])).toEqual({ signal: "SIGTERM", cpuTimeMs });
    expect(
      describeEnd(ended, [
        ["SIGKILL", "client"],
        ["SIGTERM", "timeout"],
      ]),
    ).toEqual({ signal: "SIGTERM", killedBy: "timeout", cpuTimeMs });
    // It has a second name, SIGIOT.
    expect(describeEnd({ exitCode: 134, signal: SIGABRT }).signal).toBe("SIGABRT");
    expect(describeEnd({ exitCode: 128 + 40, signal: 40 })).toEqual({ cpuTimeMs });
  });

  it("takes an exit with 128 + n for signal n only if that was sent", () => {
    const sent: [string, Killer][] = [["SIGTERM", "client"]];
    expect(describeEnd({ exitCode: 143 }, sent)).toEqual({
      signal: "SIGTERM",
      killedBy: "client",
      cpuTimeMs,
    });
    expect(describeEnd({ exitCode: 143 })).toEqual({ cpuTimeMs });
    expect(describeEnd({ exitCode: 137 }, sent)).toEqual({ cpuTimeMs });
    expect(describeEnd({ exitCode: 128 }, sent)).toEqual({ cpuTimeMs });
  });

  it("says that the time was over", () => {
    expect(describeEnd({ exitCode: 0 }, [], true)).toEqual({ timedOut: true, cpuTimeMs });
  });

  it("has the peak of the memory only if it exceeds that of the server, from which the process was forked", () => {
    const peakOf = (peakMemoryBytes: number): number | undefined =>
      describeExit(
        { exitCode: 0, signal: undefined, usage: { ...usage, peakMemoryBytes } },
        { senders: undefined, timedOut: false },
      ).peakMemoryBytes;
    const reported: (number | undefined)[] = [];
    let limit = 0;
    // The server's own peak may rise meanwhile.
    for (let kib = -1; kib !== process.resourceUsage().maxRSS; ) {
      kib = process.resourceUsage().maxRSS;
      limit = kib * 1024 + MEBIBYTE;
      reported.splice(0, 3, peakOf(limit), peakOf(limit + 1), peakOf(limit));
    }
    expect(reported).toEqual([undefined, limit + 1, undefined]);
  });
});
