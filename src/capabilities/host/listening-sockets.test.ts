import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { expect, it } from "vitest";
import { parseListening, programName, readListeningSockets } from "./listening-sockets.ts";

const HEAD =
  "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode";

function line(local: string, state: string, inode: number): string {
  return `   0: ${local} 00000000:0000 ${state} 00000000:00000000 00:00000000 00000000  1000        0 ${inode} 1 0 100 0 0 10 0`;
}

const TABLE = [
  HEAD,
  line("0100007F:1F90", "0A", 1),
  line("00000000:0050", "0A", 2),
  line("0202007F:0051", "0A", 3),
  // Reached from other machines only.
  line("0501A8C0:0052", "0A", 4),
  // A connection.
  line("0100007F:1F90", "01", 5),
  line(`${"0".repeat(32)}:0053`, "0A", 6),
  line(`${"0".repeat(24)}01000000:FFFF`, "0A", 7),
  line(`${"0".repeat(16)}FFFF00000100007F:0054`, "0A", 8),
  line("000080FE00000000FFFE0000000000AA:0055", "0A", 9),
  "nonsense",
  "",
].join("\n");

it("sockets on loopback and on every address are found, with the address at which they are reached", () => {
  expect([...parseListening(TABLE, { hasIpv6: true })]).toEqual([
    ["1", { port: 8080, host: "127.0.0.1" }],
    ["2", { port: 80, host: "127.0.0.1" }],
    ["3", { port: 81, host: "127.0.2.2" }],
    ["6", { port: 83, host: "::1" }],
    ["7", { port: 65_535, host: "::1" }],
    ["8", { port: 84, host: "127.0.0.1" }],
  ]);
  expect(parseListening(TABLE, { hasIpv6: false }).get("6")).toEqual({ port: 83, host: "127.0.0.1" });
});

it("what this program listens on is its own, until it stops", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const found = (await readListeningSockets()).of(process.pid);
  expect(found).toContainEqual({ port, host: "127.0.0.1" });
  // Another process has others.
  expect((await readListeningSockets()).of(process.ppid)).not.toContainEqual({ port, host: "127.0.0.1" });
  server.close();
  await once(server, "close");
  expect((await readListeningSockets()).of(process.pid)).not.toContainEqual({ port, host: "127.0.0.1" });
});

it("a process that does not exist has no sockets and no name", async () => {
  expect((await readListeningSockets()).of(2 ** 30)).toEqual([]);
  expect(programName(2 ** 30)).toBe("");
  expect(programName(process.pid)).not.toBe("");
});
