import { expect } from "vitest";
import type { CuttingProxy, WireMessage } from "./cutting-proxy.ts";

/** The number that identifies a running command to the client. */
export const sessionIn = (output: string | undefined): number => {
  const id = /Process running with session ID (\d+)/.exec(output ?? "")?.[1];
  if (id === undefined) throw new Error(`no running session in: ${output}`);
  return Number(id);
};

/** Tool outputs without what the client writes above them, so that pieces of one stream can be joined. */
export const body = (output: string): string =>
  output.slice(output.indexOf("Output:\n") + "Output:\n".length);

/** What commands print that count. */
export const lines = (from: number, to: number): string =>
  Array.from({ length: to - from + 1 }, (_, i) => `line ${from + i}\n`).join("");

/** The starts of commands, without what the client starts for itself. */
export const started = (proxy: CuttingProxy): WireMessage[] =>
  proxy.requests("process/start").filter(({ params }) => params?.["metadata"] !== undefined);

/** One process, one session, over more than one connection. */
export function expectResumed(proxy: CuttingProxy): void {
  const [[, opened] = [], ...again] = proxy.exchanges("initialize");
  const sessionId = opened?.["sessionId"];
  expect(again.map(([params, result]) => [params["resumeSessionId"], result["sessionId"]])).toEqual([
    [sessionId, sessionId],
  ]);
  expect(started(proxy)).toHaveLength(1);
}
