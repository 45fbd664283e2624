import { join } from "node:path";
import { createInterface } from "node:readline";
import { ConnectionError } from "../../../../base/errors.ts";
import { type RelayTarget, relayTargetOf } from "../../../../client/host/relay-url.ts";
import { Failure } from "../../../shared/failure.ts";
import { ownKeyPath, relayDirectory } from "../../../shared/relay-identity.ts";
import { writeErr } from "../../../shared/standard-streams.ts";
import { KnownExecutors } from "./known-executors.ts";

/** As a shell reports a command that SIGINT has ended. */
const INTERRUPTED_STATUS = 130;

/** An executor behind a relay, with what this user knows of its key, and the user's own. */
export function relayTarget(url: string): string | RelayTarget {
  const target = relayTargetOf(url);
  if (target === undefined) return url;
  const known = new KnownExecutors(join(relayDirectory(), "known_executors"));
  return {
    executorKey: (key) => checkKey(target, key, known),
    ...target,
    identity: ownKeyPath(),
  };
}

/** The first time, a person decides; later, another key is an attack, or another machine. */
async function checkKey(
  { relay, environmentId }: RelayTarget,
  key: string,
  known: KnownExecutors,
): Promise<void> {
  const address = `${relay}/${encodeURIComponent(environmentId)}`;
  const expected = known.keyOf(address);
  if (expected === key) return;
  const who = `the executor '${environmentId}' at ${relay}`;
  if (expected !== undefined)
    throw new ConnectionError(
      `${who} has the key ${key}, not ${expected} as before: it is another machine, or somebody pretends to be it; if that is right, remove its line from ${known.path}`,
    );
  if (!process.stdin.isTTY || !process.stderr.isTTY)
    throw new Failure(
      `${who} has a key that is not known yet: ${key}; if it is the right one, connect from a terminal once, or append #${key} to the URL; with #any you trust the relay`,
    );
  const answer = await ask(
    `The key of ${who.slice(4)} is not known yet:\n  ${key}\nIs it the one that the executor prints? [y/N] `,
  );
  if (!/^y(?:es)?$/i.test(answer.trim())) throw new Failure("the key was not accepted");
  known.add(address, key);
}

/** The answer of the person at the terminal. Throws a Failure for Ctrl-C and Ctrl-D. */
function ask(question: string): Promise<string> {
  const asking = createInterface({ input: process.stdin, output: process.stderr });
  return new Promise<string>((resolve, reject) => {
    const end = (status?: number): void => {
      writeErr("\n");
      reject(new Failure("the key was not confirmed", status));
    };
    asking.once("SIGINT", () => {
      end(INTERRUPTED_STATUS);
    });
    asking.once("close", () => end());
    asking.question(question, resolve);
  }).finally(() => {
    asking.removeAllListeners("close");
    asking.close();
  });
}
