import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { withDeadline } from "./deadline.ts";

const program = fileURLToPath(new URL("../fixtures/exchange-names.mjs", import.meta.url));
const START_DEADLINE_MS = 60_000;

/** Another process that exchanges two names all the time, each time in one step, so that neither is ever missing. */
export async function exchangeNames(left: string, right: string): Promise<AsyncDisposable> {
  const child = spawn(process.execPath, [program, left, right], { stdio: ["ignore", "pipe", "pipe"] });
  const killWithUs = () => child.kill("SIGKILL");
  process.once("exit", killWithUs);
  let complaints = "";
  child.stderr.on("data", (bytes: Buffer) => {
    complaints += bytes.toString();
  });
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const begun = new Promise<void>((resolve) => child.stdout.once("data", () => resolve()));
  const early = exited.then(() => Promise.reject(new Error(`the exchange ended: ${complaints}`)));
  await withDeadline(
    Promise.race([begun, early]),
    START_DEADLINE_MS,
    () => `the exchange of names ${complaints}`,
  );
  early.catch(() => {}); // expected from here on
  return {
    [Symbol.asyncDispose]: async () => {
      process.removeListener("exit", killWithUs);
      if (child.exitCode !== null) throw new Error(`the exchange ended: ${complaints}`);
      child.kill("SIGKILL");
      await exited;
    },
  };
}
