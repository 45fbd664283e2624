import { describe, expect, it } from "vitest";
import { attempts } from "./attempts/index.ts";
import { PROTECTIONS, type Protection } from "./bwrap-shim.ts";
import { World } from "./world.ts";

/** For each protection, attempts that it alone keeps from succeeding. */
const HELD_BACK_BY: Readonly<Record<Protection, readonly string[]>> = {
  filter: [
    "connects to a socket outside by its path",
    "sends a datagram with sendmsg from one of a pair",
    "creates a user namespace with unshare",
    "creates a user namespace with clone3",
    "attaches to a process of its own with ptrace",
    "reads a key of its user",
    "sets up io_uring",
    "types into its terminal",
    "types into its terminal with a request that is longer than the kernel reads",
    "traces by a 32-bit system call",
  ],
  "user-namespace": ["learns who owns a file of another user"],
  "pid-namespace": [
    "signals a process outside",
    "leaves a daemon behind",
    "reads the command line of a process outside",
  ],
  "ipc-namespace": ["reads System V shared memory of others", "takes a POSIX message of others"],
  "net-namespace": ["reads the names of sockets outside"],
  capabilities: ["reads a file whose mode allows no one", "changes its root"],
  "read-only-root": ["writes outside by an absolute path", "deletes a file outside"],
  "read-only-git": ["writes into .git of its own directory", "replaces .git of its own directory"],
  "absent-codex": ["creates .codex in its own directory"],
  "denied-directory": ["reads a file in a denied directory", "lists a denied directory"],
  "denied-file": ["reads a denied file"],
  "denied-pattern": ["reads a file that a pattern denies"],
  "fixed-directories": ["moves the directory of a denied file aside, for the next process"],
  "hidden-token": ["reads the token of the server", "asks the server with its token"],
  "own-proc": ["reads the command line of a process outside"],
  "read-only-proc-sys": ["sets the program that the kernel runs for core dumps"],
  "own-dev": ["reads shared memory of others in /dev/shm", "writes to the terminal of another process"],
  stage: [
    "reads from a descriptor that its parent has left open",
    "opens a file below the descriptor of a directory",
  ],
};

describe("each protection of the sandbox", () => {
  it("keeps at least one attempt from escaping that no other protection stops", async () => {
    await using world = await World.open({ kind: "ours", sandboxed: true });
    const outcomes = await Promise.all(
      PROTECTIONS.map(async (protection) => {
        const named = attempts.filter(({ name }) => HELD_BACK_BY[protection].includes(name));
        expect(named).toHaveLength(HELD_BACK_BY[protection].length);
        const escaped: string[] = [];
        const held: string[] = [];
        for (const attempt of named) {
          const outcome = await world.run(attempt, protection);
          if (outcome.escaped) escaped.push(attempt.name);
          else held.push(`${attempt.name}: ${outcome.output.trim()}`);
        }
        return { protection, escaped, held };
      }),
    );
    const lines = outcomes.map(
      ({ protection, escaped }) => `  without ${protection}: ${escaped.join("; ")}\n`,
    );
    process.stdout.write(`attempts that succeed when one protection is left out\n${lines.join("")}`);
    expect(outcomes.filter(({ escaped }) => escaped.length === 0)).toEqual([]);
  });
});
