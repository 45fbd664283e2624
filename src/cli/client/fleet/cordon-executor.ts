import type { Executor } from "../../../client/fleet/executor.ts";
import type { Fleet } from "../../../client/fleet/fleet.ts";
import { Failure, usageFailure } from "../failure.ts";
import { findFleet, type NamedFleet } from "../hosts/find-fleet.ts";
import { formatDuration } from "../print/amounts.ts";
import { complain } from "../print/complain.ts";
import { ProgressLine } from "../print/progress-line.ts";
import { TIMED_OUT_STATUS } from "../running/exit-status.ts";
import type { TargetOptions } from "../target/target-options.ts";
import { untilInterrupted } from "../until-interrupted.ts";
import { unknownExecutor } from "./connect-executor.ts";
import { fleetFailure } from "./fleet-failure.ts";
import { openNamedFleet } from "./open-named-fleet.ts";

type Options = Pick<TargetOptions, "debug" | "tokenFile">;

interface Place {
  readonly named: NamedFleet;
  readonly id: string;
  /** As -H takes it. */
  readonly name: string;
}

/** Takes an executor out of the choice, or into it again. */
export async function setCordoned(text: string, cordoned: boolean, options: Options): Promise<void> {
  const place = placeOf(text);
  await using fleet = await openNamedFleet(place.named, options);
  await cordon(fleet, place, cordoned);
}

/** Takes an executor out of the choice and waits until nothing runs there. */
export async function drain(
  text: string,
  { timeout, ...options }: Options & { readonly timeout?: number },
): Promise<void> {
  const place = placeOf(text);
  const { id, name } = place;
  const remedy = `it stays cordoned: 'exec-server fleet uncordon ${name}' undoes that`;
  await untilInterrupted(async (signal) => {
    await using fleet = await openNamedFleet(place.named, options, { signal });
    await cordon(fleet, place, true);
    signal.throwIfAborted();
    const started = Date.now();
    const now = (): Executor | undefined => fleet.list().find((executor) => executor.id === id);
    const still = (): string => processes(now()?.running ?? 0);
    const line = ProgressLine.onStderr(() => `${name}: ${still()} (${formatDuration(Date.now() - started)})`);
    try {
      await new Promise<void>((resolve, reject) => {
        const look = (): void => {
          const executor = now();
          // It may have ended, but NATS may also have lost it while everything goes on there.
          if (executor === undefined) reject(new Failure(`${name} has left the fleet before it was empty`));
          else if (executor.state === "ready")
            reject(
              new Failure(`${name} gets new work again: it was uncordoned, or its server has been restarted`),
            );
          else if (executor.running === 0) resolve();
        };
        fleet.watch(look);
        signal.addEventListener("abort", () => reject(signal.reason), { once: true });
        if (timeout !== undefined)
          setTimeout(() => {
            const time = timeout < 1000 ? `${timeout}ms` : formatDuration(timeout);
            reject(new Failure(`${name}: ${still()} after ${time}; ${remedy}`, TIMED_OUT_STATUS));
          }, timeout);
        look();
      });
    } finally {
      line?.end();
    }
    complain(`nothing runs on ${name} any more`);
  }, remedy);
}

async function cordon(fleet: Fleet, { named, id, name }: Place, cordoned: boolean): Promise<void> {
  const known = fleet.list().map((executor) => executor.id);
  if (!known.includes(id)) throw unknownExecutor(named.name, id, known);
  try {
    await (cordoned ? fleet.cordon(id) : fleet.uncordon(id));
  } catch (error) {
    throw fleetFailure(error, named);
  }
  complain(cordoned ? `${name} gets no new work` : `${name} gets new work again`);
}

/** `FLEET/NAME`, or a name in the only fleet. */
function placeOf(text: string): Place {
  const parts = text.split("/");
  const [first = "", second] = parts;
  if (parts.length > 2 || first === "" || second === "")
    throw usageFailure(`'${text}' is no executor; expected FLEET/NAME`);
  const named = findFleet(second === undefined ? undefined : first);
  const id = second ?? first;
  return { named, id, name: `${named.name}/${id}` };
}

function processes(count: number): string {
  return count === 1 ? "1 process runs" : `${count} processes run`;
}
