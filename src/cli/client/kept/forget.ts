import type { Host } from "../../../client/host/host.ts";
import { unsupported } from "../../../client/calls/unsupported.ts";
import { Failure } from "../../shared/failure.ts";
import { attachByName } from "./attach.ts";

const KILL_TIMEOUT_MS = 2_000;
/** Time for the end to be known after everything was killed. */
const END_DEADLINE_MS = 10_000;

/** Forgets a kept process: its output, its status and its name. One that runs is ended first if `force` is set. */
export async function forget(
  host: Host,
  typed: string,
  { force = false }: { readonly force?: boolean } = {},
): Promise<void> {
  if (!host.supports("process/detach.forget")) throw unsupported("process/detach.forget");
  // Its output is not needed.
  const process = await attachByName(host, typed, { mode: "control", fromSeq: Number.MAX_SAFE_INTEGER });
  const hasEnded = async (timeoutMs: number): Promise<boolean> => {
    const until = { processId: process.id, until: "closed", timeoutMs } as const;
    return (await host.request("process/wait", until)).closed;
  };
  if (!(await hasEnded(0))) {
    if (!force)
      throw new Failure(
        `${typed} has not ended; end it with 'exec-server kill ${typed}', or use --force to do both`,
      );
    await process.terminate({ timeoutMs: KILL_TIMEOUT_MS });
    if (!(await hasEnded(KILL_TIMEOUT_MS + END_DEADLINE_MS)))
      throw new Failure(`${typed} was killed, but has not ended; it was not removed`);
  }
  await process.detach({ forget: true });
}
