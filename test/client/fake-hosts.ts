import { onTestFinished } from "vitest";
import { connect } from "../../src/client/host/connect.ts";
import type { ConnectOptions } from "../../src/client/host/open-host.ts";
import type { Host } from "../../src/client/host/host.ts";
import { withDeadline } from "../fault/deadline.ts";
import type { FakeServer } from "./fake-server.ts";

const DEADLINE_MS = 20_000;

/** A host on a fake server, closed after the test. */
export async function open(server: FakeServer, options: ConnectOptions = {}): Promise<Host> {
  const host = await connect(server.open, options);
  onTestFinished(() => inTime(host.close(), "the end of the host"));
  return host;
}

/** Rejects when something takes longer than anything may. */
export function inTime<T>(promise: Promise<T>, what: string): Promise<T> {
  return withDeadline(promise, DEADLINE_MS, () => what);
}
