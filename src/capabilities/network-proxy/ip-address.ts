import { BlockList, isIPv4, isIPv6 } from "node:net";

/** The canonical form of an IP address for comparisons and messages; undefined if the text is not an address. */
export function canonicalIp(text: string): string | undefined {
  if (isIPv4(text)) return text;
  // A zone belongs to one machine's interfaces, and no name or rule needs it.
  if (!isIPv6(text) || text.includes("%")) return undefined;
  const compressed = new URL(`http://[${text}]`).hostname.slice(1, -1);
  const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(compressed);
  return mapped === null ? compressed : `::ffff:${dotted(mapped[1]!, mapped[2]!)}`;
}

/** The IPv4 address to which packets for this canonical IPv6 address go in the end, if there is one. */
export function embeddedIpv4(ip: string): string | undefined {
  if (isIPv4(ip)) return undefined;
  const groups = groupsOf(ip);
  if (groups[0] === "2002") return dotted(groups[1]!, groups[2]!);
  return IN_LAST_GROUPS.test(groups.slice(0, 6).join(":")) ? dotted(groups[6]!, groups[7]!) : undefined;
}

/** Mapped, translated (SIIT), NAT64 with the common and the local prefix, and ISATAP, which has any prefix. */
const IN_LAST_GROUPS = /^(?:(?:0:){5}ffff|(?:0:){4}ffff:0|64:ff9b:[01](?::0){3}|.*:(?:0|200):5efe)$/;

/**
 * True for addresses that are not on the public internet: loopback, private, link-local, shared, multicast,
 * documentation and reserved ones, in every form in which IPv6 can carry them. Of IPv6, only the range assigned to
 * hosts is public, so that new uses of the rest count as local.
 */
export function isLocalIp(ip: string): boolean {
  if (isIPv4(ip)) return LOCAL.check(ip, "ipv4");
  const embedded = embeddedIpv4(ip);
  return (
    !UNICAST.check(ip, "ipv6") ||
    LOCAL.check(ip, "ipv6") ||
    (embedded !== undefined && LOCAL.check(embedded, "ipv4"))
  );
}

export function isLoopbackIp(ip: string): boolean {
  const embedded = embeddedIpv4(ip);
  return ip === "::1" || (embedded ?? ip).startsWith("127.");
}

/** Assigned to hosts; mapped; NAT64. */
const UNICAST = blockList({ ipv6: ["2000::/3", "::ffff:0:0/96", "64:ff9b::/96"] });

const LOCAL = blockList({
  ipv4: [
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.88.99.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/4",
    "240.0.0.0/4",
  ],
  ipv6: [
    // Teredo, benchmarks, and other assignments that are not hosts.
    "2001::/23",
    "2001:db8::/32",
    "3fff::/20",
  ],
});

function blockList(ranges: { readonly [family in "ipv4" | "ipv6"]?: readonly string[] }): BlockList {
  const list = new BlockList();
  for (const family of ["ipv4", "ipv6"] as const)
    for (const range of ranges[family] ?? []) {
      const [network, prefix] = range.split("/");
      list.addSubnet(network!, Number(prefix), family);
    }
  return list;
}

function dotted(high: string, low: string): string {
  const [a, b] = [Number.parseInt(high, 16), Number.parseInt(low, 16)];
  return `${a >> 8}.${a & 255}.${b >> 8}.${b & 255}`;
}

function hexGroups(ipv4: string): string {
  const [a, b, c, d] = ipv4.split(".").map(Number) as [number, number, number, number];
  return `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
}

/** The eight groups of a canonical IPv6 address, in hexadecimal without leading zeros. */
function groupsOf(ip: string): string[] {
  const last = ip.slice(ip.lastIndexOf(":") + 1);
  const hex = last.includes(".") ? ip.slice(0, -last.length) + hexGroups(last) : ip;
  const [before = "", after] = hex.split("::");
  const head = before === "" ? [] : before.split(":");
  if (after === undefined) return head;
  const tail = after === "" ? [] : after.split(":");
  return [...head, ...Array.from({ length: 8 - head.length - tail.length }, () => "0"), ...tail];
}
