import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { once } from "node:events";
import { expect } from "vitest";
import { collect, outputOf, run, shell, untilOutput, withFiles, write } from "./process-events.ts";
import { entry, READ_ONLY, READ_ONLY_WITH_NETWORK, readAll, restrictedTo } from "./sandbox-context.ts";
import { SERVER_PATH } from "./server-process.ts";
import { start, verifies } from "./verifies.ts";

const onTerminal = { sandbox: READ_ONLY, tty: true };
const CTRL_C = "\u0003";
const CTRL_Z = "\u001a";

verifies("sandbox.terminal:kind", async ({ peer }) => {
  const connection = await peer();
  const script = shell("stty size; test -t 0 && test -t 1 && test -t 2 && echo terminal");
  expect(await outputOf(connection, "p", script, onTerminal)).toBe("24 80\r\nterminal\r\n");
});

verifies("sandbox.terminal:controlling", async ({ peer }) => {
  const connection = await peer();
  const stat = await outputOf(connection, "p", ["cat", "/proc/self/stat"], onTerminal);
  const [pid, , , , group, session, terminal, foreground] = stat.split(" ");
  expect({ group, session, foreground }).toEqual({ group: pid, session: pid, foreground: pid });
  expect(terminal).not.toBe("0");
  expect(await outputOf(connection, "q", shell("echo to the terminal > /dev/tty"), onTerminal)).toBe(
    "to the terminal\r\n",
  );
});

verifies("sandbox.terminal:interrupt", async ({ peer }) => {
  const connection = await peer();
  const script = shell("trap 'echo handled; exit 43' INT; sh -c 'echo up; exec sleep 1000'; echo slept");
  await connection.request("process/start", start("p", script, onTerminal));
  await untilOutput(connection, "p", /up/);
  await write(connection, "p", CTRL_C);
  const { exitCode, pty } = await collect(connection, "p");
  expect(exitCode).toBe(43);
  expect(pty.toString()).toBe("up\r\n^Chandled\r\n");
});

verifies("sandbox.terminal:jobs", async ({ peer }) => {
  const connection = await peer();
  const env = { PATH: SERVER_PATH, PS1: "ready> ", HOME: "/nowhere" };
  const argv = ["bash", "--norc", "--noprofile", "-i"];
  await connection.request("process/start", start("p", argv, { ...onTerminal, env }));
  expect(await untilOutput(connection, "p", /ready> $/)).not.toContain("no job control");
  const command = `$| = 1; $SIG{CONT} = sub { print "continued\\n" }; print "up\\n"; sleep 1000 for 1 .. 9`;
  await write(connection, "p", `perl -e '${command}'\n`);
  await untilOutput(connection, "p", /\nup\r\n/);
  await write(connection, "p", CTRL_Z);
  await untilOutput(connection, "p", /Stopped[^]*ready> $/);
  await write(connection, "p", "fg\n");
  await untilOutput(connection, "p", /\ncontinued\r\n/);
  await write(connection, "p", CTRL_C);
  await untilOutput(connection, "p", /\^C[^]*ready> $/);
  await write(connection, "p", "exit 44\n");
  expect((await collect(connection, "p")).exitCode).toBe(44);
});

/** Tries each of these in Perl and prints the error of those that fail. */
const perl = (lines: readonly string[]): string[] => ["perl", "-MSocket", "-e", lines.join("\n")];

verifies("sandbox.network:restricted", async ({ peer }) => {
  const connection = await peer();
  // inet, inet6, netlink, packet, vsock
  const families = [2, 10, 16, 17, 40];
  const script = families.map((family) => `socket(S, ${family}, 1, 0) ? print "open\\n" : print "$!\\n";`);
  const output = await outputOf(connection, "p", perl(script), { sandbox: READ_ONLY });
  expect(output).toBe("Operation not permitted\n".repeat(families.length));
});

verifies("sandbox.network:unix", async ({ peer }) => {
  const connection = await peer();
  await withFiles({}, async ({ path }) => {
    const server = createServer((socket) => socket.destroy()).listen(`${path}/socket`);
    await once(server, "listening");
    const script = [
      'socketpair(A, B, 1, 1, 0) && syswrite(A, "x") && sysread(B, $b, 1) && print "pair\\n";',
      'socket(S, 1, 1, 0) && print "socket\\n";',
      `connect(S, pack_sockaddr_un("${path}/socket")) ? print "connected" : print "$!\\n"`,
    ];
    const writable = restrictedTo([readAll, entry(path, "write")]);
    const output = await outputOf(connection, "p", perl(script), { sandbox: writable });
    server.close();
    expect(output).toBe("pair\nsocket\nOperation not permitted\n");
  });
});

verifies("sandbox.network:enabled", async ({ peer }) => {
  const connection = await peer();
  const server = createServer((socket) => socket.end("hello")).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const script = [
    'socket(S, 2, 1, 0) or die "$!";',
    `connect(S, pack_sockaddr_in(${port}, inet_aton("127.0.0.1"))) or die "$!"; print <S>`,
  ];
  const output = await outputOf(connection, "p", perl(script), { sandbox: READ_ONLY_WITH_NETWORK });
  server.close();
  expect(output).toBe("hello");
});

verifies("sandbox.network:children-of-node", async ({ peer }) => {
  const connection = await peer();
  const script = 'process.stdout.write(require("node:child_process").execSync("echo child"))';
  const { stdout, exitCode } = await run(connection, "p", [process.execPath, "-e", script], {
    sandbox: READ_ONLY,
  });
  expect({ exitCode, stdout: stdout.toString() }).toEqual({ exitCode: 0, stdout: "child\n" });
});
