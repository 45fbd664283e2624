import { expect, it } from "vitest";
import { silentLogger } from "../../base/logger.ts";
import { Audit, type AuditRecords } from "../audit/audit.ts";
import { NO_LINES } from "../audit/chain.ts";
import { RequestObservers } from "../wire/request-observers.ts";
import type { Report } from "./messages.ts";
import { ReportRelay } from "./report-relay.ts";

class Log implements AuditRecords {
  readonly head = NO_LINES;
  readonly printedHead = NO_LINES;
  readonly lost = 0;
  readonly trouble = undefined;
  readonly isFull = false;
  readonly file = undefined;
  readonly lines: object[] = [];
  written: (line: number) => void = () => {};

  add(event: string, facts: object): number {
    return this.lines.push({ event, ...facts });
  }

  onWritten(written: (line: number) => void): void {
    this.written = written;
  }

  async close(): Promise<void> {}
}

function scene(isKeeper: boolean) {
  const log = new Log();
  const recorded: number[] = [];
  const receivers = {
    audit: new Audit(log),
    observer: undefined,
    requests: new RequestObservers([]),
    logger: silentLogger,
  };
  const take = isKeeper ? (record: number): unknown => recorded.push(record) : undefined;
  const relay = new ReportRelay(
    undefined,
    receivers,
    () => undefined,
    take && ((record) => void take(record)),
  );
  return { log, recorded, relay };
}

const line = (record?: string): Report => ({
  kind: "audit",
  event: "start",
  facts: { pid: 1 },
  who: "",
  record,
});

it("acknowledges the lines of a keeper when they are in the file, and not before", () => {
  const { log, recorded, relay } = scene(true);
  for (const number of [5, 6, 7]) relay.take(line(`0000000a:${number}`));
  expect(log.lines).toEqual(
    [5, 6, 7].map((number) => ({ event: "start", pid: 1, record: `0000000a:${number}` })),
  );
  expect(recorded).toEqual([]);
  log.written(2);
  expect(recorded).toEqual([6]);
  log.written(2);
  expect(recorded).toEqual([6]);
  relay.take(line());
  log.written(4);
  expect(recorded).toEqual([6, 7]);
});

it("keeps no numbers of a program that is no keeper", () => {
  const { log, recorded, relay } = scene(false);
  relay.take(line("0000000a:1"));
  relay.take({ kind: "audit", event: "start", facts: { pid: 1, record: "0000000a:2" }, who: "" });
  expect(log.lines).toEqual([
    { event: "start", pid: 1 },
    { event: "start", pid: 1 },
  ]);
  log.written(2);
  expect(recorded).toEqual([]);
});
