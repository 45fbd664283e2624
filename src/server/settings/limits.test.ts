import { describe, expect, it } from "vitest";
import { UsageError } from "../../base/errors.ts";
import { LIMITS, limitFault, type LimitName, resolveLimits, type ServerLimits } from "./limits.ts";
import { createServer } from "../serve/server.ts";

describe("resolveLimits", () => {
  it("has these defaults", () => {
    expect(resolveLimits()).toEqual({
      maxConnections: 16_384,
      maxPendingConnections: 1024,
      handshakeTimeoutMs: 10_000,
      initializeTimeoutMs: 300_000,
      maxSessions: 16_384,
      maxProcessesPerSession: 16_384,
      maxProcesses: 65_536,
      maxRetainedBytesPerProcess: 1_048_576,
      maxRetainedBytes: 137_438_953_472,
      maxSpooledBytesPerProcess: 134_217_728,
      maxSpooledBytesPerOwner: 1_073_741_824,
      maxSpooledBytes: 4_294_967_296,
      maxMessageBytes: 67_108_864,
      maxUnansweredRequests: 65_536,
      maxBufferedBytesPerConnection: 67_108_864,
      maxBufferedBytes: 201_326_592,
      maxUnreadInputBytes: 16_777_216,
      maxTcpConnections: 256,
      maxListenersPerConnection: 16,
      maxListeners: 256,
      detachedSessionTtlMs: 80_000,
      exitedProcessRetentionMs: 80_000,
      maxMcpSessions: 256,
      mcpSessionIdleMs: 1_800_000,
      maxKeptProcesses: 256,
      keptProcessRetentionMs: 86_400_000,
      drainTimeoutMs: 0,
      shutdownGraceMs: 0,
      allowDirectExec: true,
      allowPreparedExec: true,
      allowServerScope: false,
      fsRoots: [],
    });
  });

  it("has defaults that are possible values", () => {
    for (const [name, limit] of Object.entries(LIMITS))
      expect(limitFault(name as LimitName, limit.default), name).toBeUndefined();
  });

  it.each([
    [{ maxSessions: 0 }, "maxSessions must be a whole number from 1 to 1000000"],
    [{ maxSessions: Number.NaN }, "maxSessions must be a whole number from 1 to 1000000"],
    [{ fsRoots: ["relative"] }, "fsRoots must be a list of absolute paths"],
    [{ maxSession: 1 }, "there is no limit called maxSession"],
  ])("refuses %j, and so does createServer", (limits, message) => {
    expect(() => resolveLimits(limits as Partial<ServerLimits>)).toThrow(new UsageError(message));
    expect(() => createServer({ limits: limits as Partial<ServerLimits> })).toThrow(message);
  });

  it("lets createServer refuse a root that is no directory", () => {
    const missing = () => createServer({ limits: { fsRoots: ["/nowhere"] } });
    expect(missing).toThrow(new UsageError("fsRoots: /nowhere: No such file or directory (os error 2)"));
    const file = () => createServer({ limits: { fsRoots: ["/etc/passwd"] } });
    expect(file).toThrow(new UsageError("fsRoots: /etc/passwd is not a directory"));
  });
});
